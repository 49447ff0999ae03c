"""What golden files cannot show: signals, closed pipes, memory, terminals, and values by the thousand.

Each function takes a shared.Command and returns nothing where all is well, "skipped: why", or says what is wrong."""
import any_primitive
import any_verb
import bench
import check
import completion
import convert
import layouts
import model_inputs
import outputs
import plan
import plan_costs
import show_plan
import winograd

MODULES = (any_primitive, any_verb, bench, check, completion, convert, layouts, model_inputs, outputs, plan, plan_costs,
           show_plan, winograd)
PARTS = {module.__name__: module.ALL for module in MODULES}


def of(part):
    """The functions of one part, or of all where it is empty; none of "cases", which are files."""
    return [function for name, functions in PARTS.items() if part in ("", name) for function in functions]
