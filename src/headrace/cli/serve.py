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
        str, typer.Option("--listen", metavar="HOST:PORT", help="The address of the HTTP endpoint.")
    ] = _DEFAULT,
    flight_listen: Annotated[
        str | None,
        typer.Option(
            "--flight-listen",
            metavar="HOST:PORT",
            help="The address of the Flight endpoint; by default one port above HTTP.",
        ),
    ] = None,
    token_file: Annotated[
        Path | None,
        typer.Option(
            "--token-file", metavar="FILE", help="The tokens of callers, one name:token per line."
        ),
    ] = None,
    ticket_key_file: Annotated[
        Path | None,
        typer.Option(
            "--ticket-key-file",
            metavar="FILE",
            help="The key that all servers behind one address share, so that each accepts the "
            "tickets of the others.",
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
            help="The authority that must have signed client certificates, in PEM.",
        ),
    ] = None,
    max_streams: Annotated[
        int,
        typer.Option(
            "--max-streams", min=1, metavar="COUNT", help="How many streams may run at once."
        ),
    ] = 256,
    deadline: Annotated[
        float, typer.Option("--deadline", metavar="SECONDS", help="How long a stream may take.")
    ] = 3600.0,
    drain: Annotated[
        float,
        typer.Option(
            "--drain", metavar="SECONDS", help="How long streams may continue after SIGTERM."
        ),
    ] = 30.0,
    answer_cache: Annotated[
        int,
        typer.Option(
            "--answer-cache",
            min=0,
            metavar="MIB",
            help="Memory for cached lists of files; 0 disables the cache.",
        ),
    ] = 256,
    workers: Annotated[
        int,
        typer.Option(
            "--workers", min=1, metavar="COUNT", help="How many processes share the work."
        ),
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
