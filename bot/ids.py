"""The words by which Slack tells our buttons, fields and forms apart; none of them carries a token or an id."""

# action_id of the buttons on a card
APPROVE = "approve"
EDIT = "edit"
REJECT = "reject"
OPEN_REJECT = REJECT  # Reject… opens the form: a rejection always has a reason
VIEW_ALL = "view_all"
ANSWER = "answer"
CARD_BUTTONS = (APPROVE, EDIT, REJECT, VIEW_ALL, ANSWER)

# action_id of the buttons in the full view
PAGE_NEXT = "page_next"
PAGE_PREVIOUS = "page_previous"

# callback_id of views
EDIT_FORM = "edit_form"
REJECT_FORM = "reject_form"
ANSWER_FORM = "answer_form"
FULL_VIEW = "full_view"

# block_id and action_id of form fields
VALUE = "value"  # action_id of every form field
FIELD = "field_{}"  # block_id of the nth field of a form
REASON = "reason"
NAMED_REASON = "named_reason"
