"""A database and a queue for a machine that has neither: real servers out of two wheels, under a small supervisor."""

from smarter.cli.embedded.services import Services, remove_services, start_services, stop_services

__all__ = ["Services", "remove_services", "start_services", "stop_services"]
