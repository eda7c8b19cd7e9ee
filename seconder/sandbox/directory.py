"""Who and what is in the workspace: people, groups, channels, as Slack describes them."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

from seconder.sandbox.refusal import Refused
from seconder.sandbox.seed import Seed
from seconder.sandbox.storage import Doc, Storage


class Directory:
    """Answers by id, and refuses with Slack's word for what is missing."""

    def __init__(self, storage: Storage, seed: Seed, now: Callable[[], float]) -> None:
        self._storage = storage
        self.seed = seed
        self._now = now
        if storage.get("meta", "seeded") is None:
            self._plant(seed)
            storage.put("meta", "seeded", {"team": seed.team_id})

    def people(self) -> list[Doc]:
        """Every account, the app's bot user last."""
        return self._storage.all("user")

    def user(self, user: str, error: str = "user_not_found") -> Doc:
        found = self._storage.get("user", user)
        if found is None:
            raise Refused(error)
        return found

    def user_named(self, name: str) -> Doc:
        """By id, or by the name a person types (`riley`, `@riley`)."""
        found = self._storage.get("user", name)
        named = [u for u in self.people() if u["name"] == name.removeprefix("@")]
        if found is None and not named:
            raise Refused("user_not_found")
        return found or named[0]

    def by_email(self, email: str) -> Doc:
        for user in self.people():
            if user["profile"].get("email", "").lower() == email.lower() and not user["deleted"]:
                return user
        raise Refused("users_not_found")

    def change_user(self, user: str, **changes: Any) -> Doc:
        changed = self.user(user) | changes | {"updated": int(self._now())}
        self._storage.put("user", user, changed)
        return changed

    def groups(self) -> list[Doc]:
        return self._storage.all("group")

    def group(self, group: str) -> Doc:
        """By id or handle."""
        for found in self.groups():
            if group.removeprefix("@") in {found["id"], found["handle"]}:
                return found
        raise Refused("no_such_subteam")

    def change_group(self, group: str, members: list[str]) -> Doc:
        changed = self.group(group)
        changed |= {"users": members, "user_count": len(members), "date_update": int(self._now())}
        self._storage.put("group", changed["id"], changed)
        return changed

    def channels(self) -> list[Doc]:
        return self._storage.all("channel")

    def channel(self, channel: str) -> Doc:
        """By id; `members` is in the document."""
        found = self._storage.get("channel", channel)
        if found is None:
            raise Refused("channel_not_found")
        return found

    def channel_named(self, channel: str) -> Doc:
        """By id or name, with or without `#`; a person's id opens the direct message with the app."""
        found = self._storage.get("channel", channel)
        if found is not None:
            return found
        if self._storage.get("user", channel):
            return self.direct([channel])
        for one in self.channels():
            if one.get("name") == channel.removeprefix("#"):
                return one
        raise Refused("channel_not_found")

    def change_channel(self, channel: str, **changes: Any) -> Doc:
        changed = self.channel(channel) | changes
        self._storage.put("channel", channel, changed)
        return changed

    def direct(self, users: list[str]) -> Doc:
        """The conversation between the app and these people, opened where it does not exist yet."""
        members = sorted({*users, self.seed.bot_user})
        for user in users:
            self.user(user)
        tail = "".join(u.removeprefix("U")[:9] for u in sorted(users))
        name = f"D0{tail[2:] if len(users) == 1 else ''}" if len(users) == 1 else f"G0{tail}"
        found = self._storage.get("channel", name)
        if found is None:
            found = self._direct_doc(name, users, members)
            self._storage.put("channel", name, found)
        return found

    def _direct_doc(self, name: str, users: list[str], members: list[str]) -> Doc:
        base: Doc = {"id": name, "created": int(self._now()), "is_archived": False, "members": members, "is_open": True}
        if len(users) == 1:
            return base | {"is_im": True, "user": users[0], "is_channel": False, "is_private": True}
        return base | {"is_mpim": True, "name": f"mpdm-{name.lower()}", "is_private": True, "is_channel": False}

    def _plant(self, seed: Seed) -> None:
        for person in seed.people:
            offset = datetime.fromtimestamp(self._now(), UTC).astimezone(ZoneInfo(person.tz)).utcoffset()
            extra = {"tz": person.tz, "tz_offset": int(offset.total_seconds()) if offset else 0, "tz_label": person.tz}
            flags = {name: getattr(person, name) for name in ("is_admin", "is_restricted", "is_stranger")}
            self._plant_user(
                person.id, person.name, person.real_name, person.colour,
                email=f"{person.name}@{seed.email_domain}", title=person.title, extra=extra | flags,
            )  # fmt: skip
        bot = {"is_bot": True, "is_app_user": False, "tz": "UTC", "tz_offset": 0, "tz_label": "UTC"}
        self._plant_user(
            seed.bot_user, seed.bot_name.lower(), seed.bot_name, "#1f5c57", email="", title="App", extra=bot
        )
        for group in seed.groups:
            self._plant_group(seed, group.id, group.handle, group.name, list(group.members))
        for channel in seed.channels:
            members = [*channel.members, *([seed.bot_user] if channel.with_app else [])]
            self._storage.put("channel", channel.id, self._channel_doc(seed, channel.id, channel.name, members) | {
                "is_archived": channel.archived,
                "topic": {"value": channel.topic, "creator": "", "last_set": 0},
            })  # fmt: skip

    def _plant_user(
        self, user: str, name: str, real_name: str, colour: str, *, email: str, title: str, extra: Doc
    ) -> None:
        profile = {"real_name": real_name, "real_name_normalized": real_name, "display_name": name, "title": title}
        if email:
            profile["email"] = email
        self._storage.put("user", user, {
            "id": user, "team_id": self.seed.team_id, "name": name, "real_name": real_name, "deleted": False,
            "color": colour.removeprefix("#"), "profile": profile | {"team": self.seed.team_id, "avatar_hash": user},
            "is_admin": False, "is_owner": False, "is_primary_owner": False, "is_restricted": False,
            "is_ultra_restricted": False, "is_stranger": False, "is_bot": False, "is_app_user": False,
            "updated": int(self._now()), **extra,
        })  # fmt: skip

    def _plant_group(self, seed: Seed, group: str, handle: str, name: str, members: list[str]) -> None:
        now = int(self._now())
        self._storage.put("group", group, {
            "id": group, "team_id": seed.team_id, "is_usergroup": True, "is_subteam": True, "name": name,
            "description": "", "handle": handle, "is_external": False, "date_create": now, "date_update": now,
            "date_delete": 0, "auto_type": None, "created_by": seed.people[0].id, "updated_by": seed.people[0].id,
            "prefs": {"channels": [], "groups": []}, "users": members, "user_count": len(members),
        })  # fmt: skip

    def _channel_doc(self, seed: Seed, channel: str, name: str, members: list[str]) -> Doc:
        return {
            "id": channel, "name": name, "name_normalized": name, "is_channel": True, "is_group": False,
            "is_im": False, "is_mpim": False, "is_private": False, "is_general": name == "general",
            "created": int(self._now()), "creator": seed.people[0].id, "members": members,
            "context_team_id": seed.team_id, "is_shared": False, "is_ext_shared": False, "is_org_shared": False,
            "purpose": {"value": "", "creator": "", "last_set": 0},
        }  # fmt: skip
