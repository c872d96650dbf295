"""How kdissect is extended, by itself and by others.

:mod:`kdissect.plugins.hooks` says what a plugin may offer; a package offers it
under the entry-point group ``kdissect``.  :mod:`kdissect.plugins.host` finds
plugins and keeps their failures away from everything else.

    # my_plugin.py, with [project.entry-points.kdissect] mine = "my_plugin"
    from kdissect.plugins import ValueDecoder, hookimpl

    @hookimpl
    def kdissect_value_decoders():
        return [ValueDecoder("temperature", "two bytes, tenths of a degree", decode, topics=("sensors.*",))]
"""

from kdissect.plugins.hooks import Listing, RecordPart, Rule, ValueDecoder, hookimpl

__all__ = ["Listing", "RecordPart", "Rule", "ValueDecoder", "hookimpl"]
