"""Who must be asked: the face of the package."""

from seconder.policies.caps import HistoryNeed, Reservation
from seconder.policies.case import Case
from seconder.policies.judging import Judgement
from seconder.policies.loader import load, parse
from seconder.policies.policy import Policy

__all__ = ["Case", "HistoryNeed", "Judgement", "Policy", "Reservation", "load", "parse"]
