"""Mines an event log of processes with pm4py: which ways patients take, and how long each step is.

The log is that of `python ../emergency.py LOG.csv`.

    python mine.py LOG.csv
"""

import sys

import pandas as pd
import pm4py


def cases(path):
    """A log as pm4py has it: a case is a patient, and an activity is what happens to one."""
    log = pd.read_csv(path)
    log = log[log["process"] == "patient"].copy()
    log["entity_id"] = log["entity_id"].astype(str)
    log["timestamp"] = pd.Timestamp("2026-01-01") + pd.to_timedelta(log["time"], unit="min")
    return pm4py.format_dataframe(
        log, case_id="entity_id", activity_key="event", timestamp_key="timestamp"
    )


def steps(log):
    """How often one activity follows another, and the mean time between them in minutes."""
    often, _, _ = pm4py.discover_dfg(log)
    times, _, _ = pm4py.discover_performance_dfg(log)
    return {step: (count, times[step]["mean"] / 60) for step, count in often.items()}


if __name__ == "__main__":
    for (before, after), (count, minutes) in sorted(steps(cases(sys.argv[1])).items()):
        print(f"{before:>16} -> {after:<16} {count:5} times, {minutes:6.2f} minutes")
