"""users.*, usergroups.*, auth.test and the few words about the team and the app."""

from seconder.sandbox.arguments import Answered, Arguments
from seconder.sandbox.refusal import Refused
from seconder.sandbox.workspace import Workspace


class PeopleMethods:
    def __init__(self, workspace: Workspace, url: str) -> None:
        self._workspace = workspace
        self._directory = workspace.directory
        self._url = url

    def auth_test(self, _call: Arguments) -> Answered:
        seed = self._workspace.seed
        return {
            "url": f"{self._url}/", "team": seed.team_name, "user": seed.bot_name.lower(), "team_id": seed.team_id,
            "user_id": seed.bot_user, "bot_id": seed.bot_id, "is_enterprise_install": False,
        }  # fmt: skip

    def team_info(self, _call: Arguments) -> Answered:
        seed = self._workspace.seed
        return {"team": {"id": seed.team_id, "name": seed.team_name, "domain": seed.domain, "icon": {}}}

    def bot_info(self, call: Arguments) -> Answered:
        seed = self._workspace.seed
        if call.text("bot") not in {"", seed.bot_id}:
            raise Refused("bot_not_found")
        return {"bot": {
            "id": seed.bot_id, "deleted": False, "name": seed.bot_name, "updated": 0, "app_id": seed.app_id,
            "user_id": seed.bot_user, "icons": {},
        }}  # fmt: skip

    def user_info(self, call: Arguments) -> Answered:
        return {"user": self._directory.user(call.required("user"))}

    def user_list(self, call: Arguments) -> Answered:
        page, cursor = call.page(self._directory.people())
        now = int(self._workspace.now())
        return {"members": page, "cache_ts": now, "response_metadata": {"next_cursor": cursor}}

    def user_by_email(self, call: Arguments) -> Answered:
        return {"user": self._directory.by_email(call.required("email"))}

    def group_list(self, call: Arguments) -> Answered:
        groups = [g for g in self._directory.groups() if call.flag("include_disabled") or not g["date_delete"]]
        hidden = set() if call.flag("include_users") else {"users"}
        hidden |= set() if call.flag("include_count") else {"user_count"}
        return {"usergroups": [{k: v for k, v in g.items() if k not in hidden} for g in groups]}

    def group_users(self, call: Arguments) -> Answered:
        name = call.required("usergroup")
        for group in self._directory.groups():
            if group["id"] == name and (call.flag("include_disabled") or not group["date_delete"]):
                return {"users": group["users"]}
        raise Refused("no_such_subteam")
