"""The model that is learned from recordings: it labels new ones, simulates, is saved and loaded."""

from ethomarkov.model.behaviour import BehaviourModel

__all__ = ["BehaviourModel"]
