"""`headrace serve`: serves tables to other programs over Arrow Flight and HTTP."""

from pathlib import Path
from typing import Annotated

import typer

from headrace.serve.wiring import run_server

_DEFAULT = "127.0.0.1:50051"


def serve(  # noqa: PLR0913  (one parameter an option)
    *,
    root: Annotated[
        list[str],
        typer.Option(
            "--root",
            metavar="NAME=URI",
            help="A table, or a folder of tables, under the name that clients use; may be "
            "repeated.",
        ),
    ],
    listen: Annotated[
        str, typer.Option("--listen", metavar="HOST:PORT", help="Where HTTP listens.")
    ] = _DEFAULT,
    flight_listen: Annotated[
        str | None,
        typer.Option(
            "--flight-listen",
            metavar="HOST:PORT",
            help="Where Arrow Flight listens; by default one port above HTTP.",
        ),
    ] = None,
    token_file: Annotated[
        Path | None,
        typer.Option("--token-file", metavar="FILE", help="The callers: lines of name:token."),
    ] = None,
    ticket_key_file: Annotated[
        Path | None,
        typer.Option(
            "--ticket-key-file",
            metavar="FILE",
            help="A key that servers behind one address share, so that each takes the tickets "
            "of the others.",
        ),
    ] = None,
    tls_cert: Annotated[
        Path | None, typer.Option("--tls-cert", metavar="FILE", help="The certificate, in PEM.")
    ] = None,
    tls_key: Annotated[
        Path | None, typer.Option("--tls-key", metavar="FILE", help="Its key, in PEM.")
    ] = None,
    mtls_ca: Annotated[
        Path | None,
        typer.Option(
            "--mtls-ca",
            metavar="FILE",
            help="The authority that clients' certificates must come from, in PEM.",
        ),
    ] = None,
    max_streams: Annotated[
        int, typer.Option("--max-streams", min=1, metavar="COUNT", help="The most streams at once.")
    ] = 256,
    deadline: Annotated[
        float, typer.Option("--deadline", metavar="SECONDS", help="The longest a stream may take.")
    ] = 3600.0,
    drain: Annotated[
        float,
        typer.Option(
            "--drain", metavar="SECONDS", help="How long streams may go on after SIGTERM."
        ),
    ] = 30.0,
    answer_cache: Annotated[
        int,
        typer.Option(
            "--answer-cache",
            min=0,
            metavar="MIB",
            help="Memory for the answers to repeated requests for files; 0 turns it off.",
        ),
    ] = 256,
    workers: Annotated[
        int,
        typer.Option("--workers", min=1, metavar="COUNT", help="Processes that share the work."),
    ] = 1,
    access_log: Annotated[
        bool, typer.Option("--access-log", help="Write a line of JSON for each request.")
    ] = False,
) -> None:
    """Serve tables to other programs: live files and rows, streamed as they are found.

    [dim]headrace serve --root lake=/data/lake --token-file tokens.txt --listen 0.0.0.0:50051[/]
    """
    run_server(
        roots=tuple(root),
        listen=listen,
        flight_listen=flight_listen,
        token_file=token_file,
        ticket_key_file=ticket_key_file,
        tls_cert=tls_cert,
        tls_key=tls_key,
        mtls_ca=mtls_ca,
        max_streams=max_streams,
        deadline_s=deadline,
        drain_s=drain,
        answer_cache_mib=answer_cache,
        workers=workers,
        access_log=access_log,
    )
