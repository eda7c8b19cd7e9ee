"""Run by Alembic: migrates over the connection, and within the transaction, that seconder.store.schema hands over."""

from alembic import context

from seconder.store.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    render_as_batch=True,
)
context.run_migrations()
