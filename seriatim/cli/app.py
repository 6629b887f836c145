"""The commands, and nothing that is heavy to import before one of them runs."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import Annotated

import typer

from seriatim.cli import exit_codes, options
from seriatim.version import VERSION

app = typer.Typer(
    help="What happened to an Iceberg table that overlapping runs write, and its upkeep.\n\n"
    "Catalogs are those of PyIceberg's own configuration: .pyiceberg.yaml, PYICEBERG_CATALOG__NAME__URI.",
    epilog=exit_codes.EXIT_CODES,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _version(is_asked: bool) -> None:
    if is_asked:
        typer.echo(f"seriatim {VERSION}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool, typer.Option("--version", help="The version, and nothing else.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    del version


@app.command()
def history(
    table: options.Table,
    catalog: options.Catalog = None,
    branch: options.Branch = "main",
    limit: options.Limit = None,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Show who changed what: operations, run, base, attempts, rows and sums of each commit, newest first."""
    from seriatim.cli import catalogs, documents, listing, views
    from seriatim.cli.failures import explained
    from seriatim.inspection import history as history_of

    name = catalogs.chosen(catalog)
    with explained(table, name, debug=debug):
        loaded = catalogs.open_catalog(name).load_table(table)
        entries = list(islice(history_of(loaded, branch), limit))
        if json:
            documents.print_json(documents.history_document(table, branch, entries))
        else:
            listing.show(views.history_listing(table, entries))


@app.command()
def conflicts(
    table: options.Table,
    source: Annotated[
        str, typer.Option("--from", metavar="TABLE", help="The table that the sensor records conflicts in.")
    ] = "bank.conflicts",
    catalog: options.Catalog = None,
    limit: options.Limit = None,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Show which commits lost to which on a table, and what it cost, newest first."""
    from seriatim.cli import catalogs, documents, listing, views
    from seriatim.cli.failures import explained
    from seriatim.inspection import recorded_conflicts

    name = catalogs.chosen(catalog)
    with explained(table, name, debug=debug):
        found = recorded_conflicts(catalogs.open_catalog(name), table, source=source, limit=limit)
        if json:
            documents.print_json(documents.conflicts_document(table, source, found))
        else:
            listing.show(views.conflicts_listing(table, source, found))


@app.command()
def lookup(
    table: options.Table,
    operation_id: Annotated[
        str | None,
        typer.Argument(
            metavar="OPERATION_ID",
            help="An operation id, a partition as asset|key, or a stream's step as name@upto.",
            show_default=False,
        ),
    ] = None,
    issued_at: Annotated[
        int | None,
        typer.Option(
            "--issued-at",
            metavar="TIME",
            parser=options.time_ms,
            help="When the operation was issued, as ISO 8601: what was issued after everything that the ledger has "
            "forgotten, and is not in it, has not been applied.",
            show_default=False,
        ),
    ] = None,
    delta_version: Annotated[
        int | None,
        typer.Option(
            "--delta-version",
            metavar="VERSION",
            min=0,
            help="Of a mirror: which snapshot is this version of the Delta table?",
            show_default=False,
        ),
    ] = None,
    snapshot: Annotated[
        int | None,
        typer.Option(
            "--snapshot",
            metavar="SNAPSHOT",
            help="Of a mirror: which version of the Delta table is this snapshot?",
            show_default=False,
        ),
    ] = None,
    catalog: options.Catalog = None,
    branch: options.Branch = "main",
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Tell whether an operation has been applied: exit code 0 it has, 4 it has not, 3 it cannot be told.

    Or, of the mirror of a Delta table, which snapshot is which version.
    """
    from seriatim.cli import catalogs, documents, version_lookup, views
    from seriatim.cli.failures import explained
    from seriatim.inspection import Applied, NotApplied
    from seriatim.inspection import lookup as look_up

    if [operation_id, delta_version, snapshot].count(None) != 2:
        raise typer.BadParameter("say one thing to look up: OPERATION_ID, --delta-version or --snapshot")
    name = catalogs.chosen(catalog)
    with explained(table, name, debug=debug):
        if operation_id is None:
            loaded = catalogs.open_catalog(name).load_table(table)
            code = version_lookup.answer(loaded, table, branch, delta_version, snapshot, json=json)
            raise typer.Exit(code)
        found = look_up(catalogs.open_catalog(name), table, operation_id, branch=branch, issued_at_ms=issued_at)
        if json:
            documents.print_json(documents.lookup_document(table, branch, found))
        else:
            typer.echo(views.lookup_sentence(table, found))
        if isinstance(found, Applied):
            return
        raise typer.Exit(exit_codes.NOT_APPLIED if isinstance(found, NotApplied) else exit_codes.CANNOT_TELL)


@app.command()
def mirror(  # noqa: PLR0913  # Options, by name.
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="The Delta table: a path, or a URI.")],
    table: options.Table,
    catalog: options.Catalog = None,
    upto: options.Upto = None,
    batch: options.Batch = None,
    on_gap: Annotated[
        options.OnGap,
        typer.Option("--on-gap", help="Where versions are gone from the Delta log: give up, or land one for all."),
    ] = options.OnGap.FAIL,
    start_over: Annotated[
        bool,
        typer.Option("--start-over", help="Drop the mirror from the catalog, and begin anew; no file is deleted."),
    ] = False,
    check_files: Annotated[
        bool,
        typer.Option("--check-files", help="Read the footer of each new file, and refuse field ids the log lacks."),
    ] = False,
    location: Annotated[
        str | None,
        typer.Option("--location", metavar="URI", help="Where a new mirror goes.", show_default=False),
    ] = None,
    storage_option: options.StorageOptions = None,
    watch: Annotated[
        bool, typer.Option("--watch", help="Go on as the Delta table does, until --upto has landed, or Ctrl-C.")
    ] = False,
    interval: options.Interval = "10s",  # type: ignore[assignment]  # What the parser is given.
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Land the versions of a Delta table that its Iceberg mirror TABLE has not, each as one snapshot, exactly once."""
    from seriatim.cli import catalogs
    from seriatim.cli.failures import explained
    from seriatim.cli.mirroring import Mirroring
    from seriatim.system import SystemClock

    given = storage_option or []
    name = catalogs.chosen(catalog)
    with explained(table, name, debug=debug, hidden=[each.value for each in given if each.is_hidden]):
        work = Mirroring(
            catalogs.open_catalog(name),
            source,
            table,
            upto=upto,
            batch=batch,
            on_gap="snapshot" if on_gap is options.OnGap.SNAPSHOT else "fail",
            start_over=start_over,
            check_files=check_files,
            location=location,
            storage_options={each.key: each.value for each in given},
            is_json=json,
        )
        if watch:
            work.watch(SystemClock(), interval)
        else:
            work.run()


@app.command()
def audit(
    table: options.Table,
    unique_key: options.UniqueKey = None,
    constant_sum: options.ConstantSum = None,
    sums_as_recorded: options.SumsAsRecorded = None,
    bounds: options.Bounded = None,
    since: Annotated[
        int | None,
        typer.Option("--since", metavar="SNAPSHOT", help="Only what came after this snapshot.", show_default=False),
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option("--html", metavar="FILE", help="Write a report with a timeline, too.", show_default=False),
    ] = None,
    source: Annotated[
        str | None,
        typer.Option(
            "--conflicts-from",
            metavar="TABLE",
            help="With --html: the table that the sensor records conflicts in.",
            show_default=False,
        ),
    ] = None,
    catalog: options.Catalog = None,
    branch: options.Branch = "main",
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Say from the table whether updates were lost: exit code 0 nothing is wrong, 6 anomalies, 3 cannot be judged."""
    from seriatim.audit import Bounds, ConstantSum, Invariant, Status, SumsAsRecorded, UniqueKey
    from seriatim.audit import audit as audit_of
    from seriatim.audit.html import html_report
    from seriatim.cli import audit_views, catalogs, documents
    from seriatim.cli.failures import explained
    from seriatim.inspection import recorded_conflicts

    name = catalogs.chosen(catalog)
    with explained(table, name, debug=debug):
        opened = catalogs.open_catalog(name)
        invariants: list[Invariant] = [
            *(UniqueKey(*columns.split(",")) for columns in unique_key or ()),
            *(ConstantSum(column) for column in constant_sum or ()),
            *(SumsAsRecorded(column) for column in sums_as_recorded or ()),
            *(Bounds(each.column, each.at_least, each.at_most) for each in bounds or ()),
        ]
        verdict = audit_of(opened, table, invariants, branch=branch, since=since)
        if html is not None:
            conflicts = recorded_conflicts(opened, table, source=source) if source is not None else []
            html.write_text(html_report(verdict, invariants, conflicts), encoding="utf-8")
        if json:
            documents.print_json(audit_views.audit_document(verdict, invariants))
        else:
            typer.echo("\n".join(audit_views.audit_lines(verdict)))
        if verdict.status is not Status.CLEAN:
            raise typer.Exit(exit_codes.ANOMALY if verdict.status is Status.ANOMALIES else exit_codes.CANNOT_TELL)


@app.command()
def upkeep(
    table: options.Table,
    dry_run: options.DryRun = True,
    older_than: Annotated[
        float,
        typer.Option(
            "--older-than",
            metavar="AGE",
            parser=options.duration_s,
            help="Only orphan files that are older are removed: a younger one may belong to a commit under way.",
        ),
    ] = "3d",  # type: ignore[assignment]  # What the parser is given.
    keep: Annotated[
        int | None,
        typer.Option(
            "--keep",
            metavar="COUNT",
            min=1,
            help="Snapshots that a branch keeps, where the table does not say it.  [default: 20]",
            show_default=False,
        ),
    ] = None,
    catalog: options.Catalog = None,
    branch: options.Branch = "main",
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Expire old snapshots, compact small files, remove orphan files; without --apply only say what would be done."""
    from seriatim.cli import catalogs, documents, upkeep_views
    from seriatim.cli.failures import explained
    from seriatim.cli.progress import orphan_progress
    from seriatim.commit import RetentionPolicy
    from seriatim.upkeep import maintain

    name = catalogs.chosen(catalog)
    with explained(table, name, debug=debug):
        opened = catalogs.open_catalog(name)
        retention = RetentionPolicy(snapshots_min=keep) if keep is not None else None
        with orphan_progress(is_silent=json) as progress:
            report = maintain(
                opened,
                table,
                dry_run=dry_run,
                retention=retention,
                older_than_s=older_than,
                branch=branch,
                progress=progress,
            )
        if json:
            documents.print_json(upkeep_views.upkeep_document(report))
        else:
            typer.echo("\n".join(upkeep_views.upkeep_lines(report)))


@app.command()
def repair(
    table: options.Table,
    dry_run: options.DryRun = True,
    catalog: options.Catalog = None,
    branch: options.Branch = "main",
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Say whether the ledger is whole and, with --apply, accept what is lost: it counts as not applied from then on."""
    from seriatim.cli import catalogs, documents, upkeep_views
    from seriatim.cli.failures import explained
    from seriatim.upkeep import repair as repair_of

    name = catalogs.chosen(catalog)
    with explained(table, name, debug=debug):
        report = repair_of(catalogs.open_catalog(name), table, dry_run=dry_run, branch=branch)
        if json:
            documents.print_json(upkeep_views.repair_document(report))
        else:
            typer.echo("\n".join(upkeep_views.repair_lines(report)))
        if dry_run and not report.is_whole:
            raise typer.Exit(exit_codes.TO_BE_REPAIRED)
