"""What is measured: a file for each subject. All of them put their tables into `bench.TABLES`."""

from . import engines, examples, laboratory, pools, time_warp

__all__ = ["engines", "examples", "laboratory", "pools", "time_warp"]
