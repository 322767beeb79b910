"""Relations between columns that private models enforce while decoding: given by the user, never found in the rows.

    end >= start           one column is never below another
    total = net + tax      a sum or difference; `total = price * quantity`, a product
    country from city      one column is a function of another

Names with anything but letters, digits and underscores are enclosed in backticks: `unit price`.
"""

from .parse import parse
from .plain_columns import Plain
from .rules import AtLeast, Lookup, Product, Rule, Sum
from .ruleset import RuleSet

__all__ = ["AtLeast", "Lookup", "Plain", "Product", "Rule", "RuleSet", "Sum", "parse"]
