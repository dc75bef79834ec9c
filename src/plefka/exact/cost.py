"""What a unit of work costs, and which limits follow from that: of time, and of memory.

Seconds are those of one core of a small server, measured to a factor of two or so. They decide between ways to the same
numbers, and say what an answer will take before it starts. As they are predicted, never measured while an answer is
computed, the same question always goes the same way.
"""

# ---- seconds of a unit of work ---------------------------------------------------------------------------------------

WORK_PER_SECOND = 2e8  # multiplications and additions of large arrays
STATE_WORK = 3.0  # of these for a state that is enumerated, for each unit and edge
MACHINE_STATE = 2e-8  # of a state of a machine, for each unit that is summed over in closed form
MACHINE_ROW = 1e-4  # of a row of a machine that is enumerated, besides
COMPILING = 0.5  # of a program that sums over states
STEP = 3e-5  # of a step of an elimination, there and back: some calls of NumPy
ENTRY, ENTRY_AGAIN = 4e-9, 8e-9  # of an entry of its tables, where these are kept, or made again on the way back
STEPS_PER_EDGE = 4  # of an elimination, at least
ONE_WAY = 0.5  # the part of the time of an elimination that the way there takes
PLANNED_UNIT = 5e-5  # of planning, for each unit
MESSAGES, MESSAGES_OF_MANY = 1e3, 4e3  # work for each edge: of units with few parents, and with many
REGION_ENTRY, REGION_ROUND = 2.5e-9, 1e-4  # of `loops`: of an entry of the tables of a sweep, and of a sweep
REGION_SWEEPS, REGION_BUILT, ENTRY_BUILT = 300, 2e-4, 2.7e-7  # of an answer, about; of making a region and its entries
JOINED_UNIT = 1.2e-3  # of a unit around which loops are joined, at least
REDUCED_UNIT = 4e-7  # of reducing a unit of a row, and of its way back
SPIN, SPARSE_COUPLING, DENSE_COUPLING = 4e-9, 2e-10, 1e-10  # of drawing one spin of one particle, and its couplings
SPIN_COLOUR = 3e-8  # of a colour for each particle: some calls of NumPy, for a few hundred of them together
BELIEF_FACTOR, BELIEF_DRAW = 6e-9, 1.5e-8  # of a factor of a unit that a sweep visits, and of a unit that is drawn
DEARER_LOGS, DEARER_TABLES = 2.0, 4.0  # times as much where the logarithms are not those of sigmoid units
BELIEF_CALLS, BELIEF_SWEEP = 5e-5, 5e-4  # of visiting units together, and of a sweep, however few the particles are
FITTED_NUMBER = 1e-7  # of a unit of a draw that a mixture is fitted to
BOUND_MEMBER, BOUND_ENTRY = 8e-6, 2.5e-9  # of an evaluation of mini-buckets: of a table in them, and of an entry
COVER_CALL, COVER_UNION, COVER_SET = 4e-4, 1.5e-8, 2e-8  # of a finding that is covered, a union, and a set of a cause
FINDINGS_ROW, FINDINGS_EDGE = 0.02, 2.5e-5  # of an answer with all findings transformed, and for each edge into them

# ---- limits of time, in seconds --------------------------------------------------------------------------------------

PLANNED_AGAIN = 0.05  # of an elimination from which on a better order is looked for
QUICK = 0.3  # for which no other way is looked for
QUICK_TABLES = 3.0  # and where the tables are those of a file, whose numbers other ways have rounded
THOROUGH = 30.0  # that barren units may take where exact inference was asked for
SHORT, SHORT_IN_ALL = 0.1, 1.0  # that they may take, of a row and of all rows, where it was not
LITTLE = 0.02  # for which barren units are not split into groups
ASKED_SECONDS = 3.0  # that all candidates of `ask` may take; where it would be more, the best are estimated first
CONTRADICTION_SECONDS = 2.0  # of exact inference, to name the observations that contradict each other
BOUND_SECONDS = 2.0  # of the search for an upper bound by mini-buckets
BOUNDED_SECONDS = 1.0  # of an exact answer for which `pf.bounds` looks for no bounds
RIVALS_SECONDS = 1.0  # of sums about further causes after which `pf.sensitivity` compares no more with the leading one
FINDINGS_SECONDS = 1.0  # of a sum over what is left where all findings are transformed
AS_LONG = 10  # times as long as an answer itself may be taken for its barren units, where exact was not asked for
DEARER = 30  # times as long may be taken for the numbers of a file as they are
FEW_STATES = 2**15  # states of a row times units, about a millisecond: less than it takes to find another way
LITTLE_WORK = 2**22  # states of all rows times units that NumPy sums over, as compiling would take longer
MOST_PLANNED = 2**14  # edges times rows that barren units are planned for, where exact was not asked for

# ---- limits of memory ------------------------------------------------------------------------------------------------

NUMBERS_PER_GIB = 2**27
MOST_GIB, MOST_GIB_OF_MACHINES, MOST_GIB_OF_DRAWS = 1.0, 2.0, 0.25  # of an elimination; draws need more than sums
FEW_NUMBERS = 2**25  # that are kept of an elimination from the way there, where it is not gone again on the way back
ENTRIES_AT_ONCE = 2**22  # numbers of the largest table of all rows that are eliminated together
LEAST_AT_ONCE = 8  # rows that are eliminated together, or else one by one: loops over so few take longer
MOST_COVERED = 22  # findings of a sum over sets of them
FEWEST_COVERED = 256  # edges of a row from which on it is looked for
WIDEST_TABLE = 25  # axes of a table of an elimination
MOST_PARENTS_OF_A_TABLE = 20  # free parents of a unit whose table is a factor
