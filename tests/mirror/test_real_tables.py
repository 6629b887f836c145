"""That the schema of every real Delta table at hand is translated, or refused by name."""

from __future__ import annotations

import json
import os
from pathlib import Path

import deltalake
import pytest
from deltalake.exceptions import DeltaError

from seriatim.errors import UnsupportedFeatureError
from seriatim.mirror.delta.actions import Metadata
from seriatim.mirror.forms.data_files import data_file, needs_row_count
from seriatim.mirror.forms.schemas import Form, Known, form_of
from tests.mirror.forms_support import add_of, log_lines, metadata_of

TABLES = os.environ.get("SERIATIM_DELTA_TABLES")
REFUSED = {"spark-variant-stable-feature-checkpoint": ("the type variant", "v")}


def roots() -> list[Path]:
    """The tables, by the folder that has the log."""
    return sorted(log.parent for log in Path(TABLES).glob("**/_delta_log")) if TABLES else []


def test_there_are_real_tables() -> None:
    """Without them the test below has no case, and nobody would notice."""
    if TABLES is None:
        pytest.skip("SERIATIM_DELTA_TABLES names no folder of Delta tables")
    assert len(roots()) > 30


@pytest.mark.parametrize("root", roots(), ids=lambda root: root.name)
def test_a_real_table_is_translated_or_refused_by_name(root: Path) -> None:
    """Every version's schema and every file of it that the log has as JSON; the rest lies in checkpoints."""
    source, known, form = f"file://{root}", Known.nothing(), None
    metadata, refused = None, None
    schemas = files = 0
    for version, action in log_lines(root):
        if "metaData" in action:
            metadata = metadata_of(action["metaData"])
            try:
                form = form_of(source, version, metadata, known)
            except UnsupportedFeatureError as err:
                refused = err
                break
            known, schemas = known.with_form(form), schemas + 1
        if "add" in action and form is not None and metadata is not None:
            check_file(root, version, action["add"], form, metadata)
            files += 1

    print(f"{root.name}: {schemas} schema(s), {files} file(s), {refused or 'translated'}")
    found = None if refused is None else (refused.feature, refused.column)
    assert found == REFUSED.get(root.name)


@pytest.mark.parametrize("root", roots(), ids=lambda root: root.name)
def test_the_schema_that_delta_rs_finds_is_translated_too(root: Path) -> None:
    """Some logs have their metadata in a checkpoint alone."""
    if root.name in REFUSED:
        pytest.skip("refused, as the test above says")
    try:
        opened = deltalake.DeltaTable(root)
    except DeltaError as err:
        pytest.skip(f"delta-rs does not open it: {err}")
    metadata = Metadata(
        str(opened.metadata().id),
        json.loads(opened.schema().to_json()),
        tuple(opened.metadata().partition_columns),
        opened.metadata().configuration,
    )

    got = form_of(str(root), opened.version(), metadata, Known.nothing())

    assert [column.name for column in got.schema.fields] == [column.name for column in opened.schema().fields]
    assert len(got.spec.fields) == len(opened.metadata().partition_columns)


def check_file(root: Path, version: int, action: dict[str, object], form: Form, metadata: Metadata) -> None:
    """The file is made, with as many partition values as there are partition columns."""
    add = add_of(root, action)
    file = data_file(f"file://{root}", version, add, form, metadata, 1 if needs_row_count(add) else None)
    assert len(file.partition) == len(metadata.partition_columns)
    assert set(file.lower_bounds) | set(file.null_value_counts) <= set(form.schema.field_ids)
