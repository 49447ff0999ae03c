"""What golden files cannot show: signals, closed pipes, memory, terminals, and values by the thousand.

Each function takes a shared.Command and returns nothing where all is well, "skipped: why", or says what is wrong."""
import any_primitive
import any_verb
import bench
import check
import convert
import layouts
import outputs
import plan
import plan_costs

ALL = [*any_primitive.ALL, *any_verb.ALL, *convert.ALL, *layouts.ALL, *bench.ALL, *check.ALL, *outputs.ALL,
       *plan.ALL, *plan_costs.ALL]
