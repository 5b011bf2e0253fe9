"""Animates an event log of processes with vidigi: patients of an emergency department.

The log is what `python ../emergency.py LOG.csv` writes, and `cargo run --release -p warpline-processes
--features gallery --example emergency -- LOG.csv` of the same model in Rust: the same bytes. Its
columns are those of vidigi, so it is read and shown.

    python animate.py LOG.csv PAGE.html
"""

import sys
from types import SimpleNamespace

import pandas as pd
from vidigi.animation import animate_activity_log

#: Where each thing happens on the page, and how many units there are of a resource.
PLACES = pd.DataFrame(
    [
        {"event": "arrival", "x": 50, "y": 300, "label": "Arrival"},
        {"event": "queue_nurse", "x": 205, "y": 275, "label": "Waiting for triage"},
        {"event": "use_nurse", "x": 205, "y": 190, "label": "Triage", "resource": "nurses"},
        {"event": "travel", "x": 300, "y": 100, "label": "On the way"},
        {"event": "queue_doctor", "x": 405, "y": 275, "label": "Waiting for a doctor"},
        {"event": "use_doctor", "x": 405, "y": 190, "label": "Doctor", "resource": "doctors"},
        {"event": "queue_scanner", "x": 605, "y": 275, "label": "Waiting for X-ray"},
        {"event": "use_scanner", "x": 605, "y": 190, "label": "X-ray", "resource": "scanners"},
        {"event": "depart", "x": 670, "y": 70, "label": "Exit"},
    ]
)
UNITS = SimpleNamespace(nurses=2, doctors=5, scanners=2)


def patients(path):
    """The rows of a log that are about patients."""
    log = pd.read_csv(path)
    return log[log["process"] == "patient"]


def animation(path, minutes=240):
    """The animation of a log, as a figure of plotly."""
    return animate_activity_log(
        patients(path), PLACES, UNITS, every_x_time_units=5, limit_duration=minutes
    )


if __name__ == "__main__":
    animation(sys.argv[1]).write_html(sys.argv[2])
