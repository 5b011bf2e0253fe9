"""How many radio channels does a cell need? Blocking by channels, beside Erlang's formula."""

import warpline_sim as wl


def erlang_b(channels: int, load: float) -> float:
    """The probability that all of so many channels are busy (load in Erlang)."""
    blocking = 1.0
    for channel in range(1, channels + 1):
        blocking = load * blocking / (channel + load * blocking)
    return blocking


def main() -> None:
    table = wl.sweep("pcs", {"channels": [6, 8, 10, 12]}, cells="16x16", portables=6400, end=500, warmup=60)
    print("channels  blocked  by Erlang's formula for the load that was carried")
    for row in table:
        offered = row["carried_traffic"] / (1 - row["blocking_probability"])
        formula = erlang_b(row["channels"], offered)
        print(f"{row['channels']:8}  {row['blocking_probability']:7.4f}  {formula:7.4f}")


if __name__ == "__main__":
    main()
