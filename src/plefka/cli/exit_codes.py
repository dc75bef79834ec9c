"""What the command returns, beside 0, and 1 where an answer did not converge."""

BAD_INPUT = 2
PROCESS_LOST = 3  # one of several that learn together
INTERRUPTED = 130
