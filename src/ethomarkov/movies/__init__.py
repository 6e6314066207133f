"""Moving pictures of bodies: crawling, beside their simulation, and in every state."""

from ethomarkov.movies.scenes import Behaviour, crawl_scene, posture_pair_scene, tour_scene
from ethomarkov.movies.stage import Shot, StageScene
from ethomarkov.movies.writer import Scene, write_movie

__all__ = [
    "Behaviour",
    "Scene",
    "Shot",
    "StageScene",
    "crawl_scene",
    "posture_pair_scene",
    "tour_scene",
    "write_movie",
]
