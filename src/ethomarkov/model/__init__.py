"""What was learned from recordings: one type that labels new ones, simulates, is saved and loaded."""

from ethomarkov.model.behaviour import BehaviourModel as BehaviourModel
