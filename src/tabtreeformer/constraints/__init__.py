"""Relations between columns that hold in every row: found, written in a readable form, and kept while decoding.

    end >= start           one column is never below another
    total = net + tax      a sum or difference; `total = price * quantity`, a product
    country from city      one column is a function of another

Names with anything but letters, digits and underscores stand between backticks: `unit price`.
"""

from .checked import Checked
from .find import find_constraints
from .parse import parse
from .plain import Plain
from .rules import AtLeast, Lookup, Product, Rule, Sum
from .ruleset import RuleSet

__all__ = ["AtLeast", "Checked", "Lookup", "Plain", "Product", "Rule", "RuleSet", "Sum", "find_constraints", "parse"]
