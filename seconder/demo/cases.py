"""The customers of the demo."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One customer's wish; amounts in EUR."""

    customer: str
    person: str
    email: str
    order: str
    total: float
    trouble: str
    reason: str

    @property
    def wish(self) -> str:
        """What the support person asks the agent."""
        return f"Customer {self.customer} ({self.person}) wants the money back for order {self.order}: {self.trouble}."


CASES = (
    Case(
        customer="C-8842",
        person="Mara Lindqvist",
        email="mara.lindqvist@example.com",
        order="O-991",
        total=240.0,
        trouble="one of the two lamps arrived broken",
        reason="damaged_on_arrival",
    ),
    Case(
        customer="C-3107",
        person="Jonas Weber",
        email="jonas.weber@example.com",
        order="O-1017",
        total=89.5,
        trouble="the parcel never arrived",
        reason="lost_parcel",
    ),
    Case(
        customer="C-5530",
        person="Aisha Karim",
        email="aisha.karim@example.com",
        order="O-1044",
        total=1250.0,
        trouble="the desk has the wrong colour",
        reason="wrong_item",
    ),
)
