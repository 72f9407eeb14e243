# Two commands do all the set-up: `make demo` and `make test`.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
PEERS  := $(VENV)/.peers

.DEFAULT_GOAL := help
.PHONY: help setup test lint format types unit conformance-remote race-remote soak fault-soak kill-soak spark-soak demo docs bench bench-full bench-spark bench-rows bench-everyday bench-remote bench-history bench-pipeline bench-state state-soak spark-delta tpcds constraints clean spark-remote

help:  ## list the verbs
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

$(READY): pyproject.toml constraints.txt hatch_build.py $(wildcard src/headrace/compiled/*.[ch])
	@echo "setting up $(VENV): 2 GB of packages, Spark and Java among them; this takes minutes"
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	@touch $(READY)

setup: $(READY)  ## make the virtual environment

test: lint types unit  ## everything that gates a change

lint: $(READY)  ## style and format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: $(READY)  ## rewrite the code in the project's format
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

types: $(READY)  ## mypy --strict
	$(BIN)/mypy

unit: $(READY)  ## the tests
	$(BIN)/pytest -n 2 --dist worksteal -q

soak: $(READY)  ## the property tests with many more examples (long)
	HEADRACE_EXAMPLES=20000 $(BIN)/pytest -n 2 -q -m property --timeout 7200

# On DataFusion each operation fails in every way; on Spark in one way a turn, and in every way after
# turns 0 to 3. `make fault-soak SPARK_FAULTS=all` takes hours.
SPARK_FAULTS ?= turn $(shell expr `date +%j` % 4)

fault-soak: $(READY)  ## fail every store operation and every step of a run, on both runners (long)
	HEADRACE_FAULTS=all HEADRACE_SPARK_FAULTS="$(SPARK_FAULTS)" $(BIN)/pytest -q tests/pipeline/faults --log-cli-level INFO

kill-soak: $(READY)  ## kill a pipeline run 20 times on each runner and compare its tables (long)
	HEADRACE_KILLS=20 $(BIN)/pytest -q tests/pipeline/running/test_kill.py --log-cli-level INFO

conformance-remote: $(READY)  ## the rows and files of real tables on emulators of object stores (many minutes)
	$(BIN)/pytest -q tests/storage/test_web.py
	HEADRACE_CONFORMANCE_STEP=1 $(BIN)/pytest -n 2 -q tests/conformance/test_remote.py

spark-remote: $(READY)  ## Spark's own file system for S3 over an emulator (downloads 700 MB; minutes)
	HEADRACE_HADOOP_AWS=org.apache.hadoop:hadoop-aws:3.5.0 $(BIN)/pytest -q tests/spark_remote

race-remote: $(READY)  ## 8 processes, 300 objects: one creates each, on disk, S3 and Azure (minutes)
	HEADRACE_RACERS=8 HEADRACE_RACE_ROUNDS=300 $(BIN)/pytest -q tests/storage/test_race.py

spark-soak: $(READY)  ## kill a Spark stream 20 times and count its rows (long)
	$(BIN)/python -m tests.spark.soak --kills 20

state-soak: $(READY)  ## states: eight processes with 100 commits each, kill -9 at every operation, long histories (long)
	HEADRACE_SOAK=1 HEADRACE_EXAMPLES=4000 $(BIN)/pytest -q tests/maintain --timeout 7200

# The newest Spark that Delta is built for, and that Delta. It is behind our own Spark, so that
# it lives in an environment of its own.
ORACLE := $(VENV)/spark-delta
ORACLE_SPARK := pyspark==4.2.0
ORACLE_DELTA := io.delta:delta-spark_4.2_2.13:4.4.0

$(ORACLE)/.ready: $(READY)
	$(PYTHON) -m venv $(ORACLE)
	$(ORACLE)/bin/python -m pip install --quiet --constraint constraints.txt \
	  --editable '.[spark-java]' hypothesis pytest pytest-timeout
	$(ORACLE)/bin/python -m pip install --quiet $(ORACLE_SPARK)
	@touch $@

spark-delta: $(ORACLE)/.ready  ## rows against Spark's own Delta (downloads it; minutes)
	HEADRACE_SPARK_DELTA=$(ORACLE_DELTA) $(ORACLE)/bin/pytest -q tests/spark_delta --timeout 1200

# DuckDB's generator of TPC-DS, and the DuckDB that PyPI has it for.
TPCDS := $(VENV)/tpcds
TPCDS_SCALE := 0.05

$(TPCDS)/.ready: $(READY) tests/tpcds/generate.py
	$(PYTHON) -m venv $(TPCDS)
	$(TPCDS)/bin/python -m pip install --quiet duckdb==1.5.5 duckdb-extension-tpcds==1.5.5
	$(TPCDS)/bin/python tests/tpcds/generate.py $(TPCDS)/lake $(TPCDS_SCALE)
	@touch $@

tpcds: $(TPCDS)/.ready  ## the 99 queries of TPC-DS on both engines (minutes)
	HEADRACE_TPCDS=$(TPCDS)/lake $(BIN)/pytest -q -s -n 0 tests/tpcds --timeout 1200

demo: $(READY)  ## a small lake: stream its files, run a pipeline over it on Spark
	$(BIN)/python examples/demo.py

docs: $(READY)  ## build the documentation into site/
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[docs]'
	$(BIN)/mkdocs build --strict

$(PEERS): $(READY)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev,bench]'
	@touch $(PEERS)

bench: $(PEERS)  ## measure against the peers, 1 M files (minutes)
	$(BIN)/python -m benchmarks.run --files 1000000 --repeats 5

bench-full: $(PEERS)  ## the same with 10 M files (most of an hour, 16 GB of memory)
	$(BIN)/python -m benchmarks.run --files 10000000 --repeats 5 --patience 60

bench-spark: $(PEERS)  ## a pinned read on Spark against a bare one, 10,000 files (minutes)
	$(BIN)/python -m benchmarks.spark_read

bench-rows: $(PEERS)  ## the time to the first rows, 1 M files; whole and filtered reads (minutes)
	$(BIN)/python -m benchmarks.row_read
	$(BIN)/python -m benchmarks.first_row --repeats 5

bench-remote: $(PEERS)  ## a slow object store, 1 M files and the first two cases at 10 M (many minutes)
	$(BIN)/python -m benchmarks.remote --files 1000000
	$(BIN)/python -m benchmarks.remote --files 10000000 --repeats 2 --case snapshot --case first

bench-history: $(PEERS)  ## a run after 10 runs and after 10,000 (many minutes, most of them preparation)
	$(BIN)/python -m benchmarks.pipeline_history

.PHONY: bench-serve serve-fuzz
bench-serve: $(PEERS)  ## a server against deltalake behind Flight, 1 M files (minutes)
	$(BIN)/python -m benchmarks.serve

serve-fuzz: $(READY)  ## fuzz the HTTP interface and the predicates of a server (minutes; downloads schemathesis and atheris)
	$(PYTHON) -m venv $(VENV)/fuzz
	$(VENV)/fuzz/bin/python -m pip install --quiet --constraint constraints.txt --editable '.[pipeline,serve]'
	$(VENV)/fuzz/bin/python -m pip install --quiet schemathesis atheris
	$(VENV)/fuzz/bin/python -m tests.serve.fuzz

bench-everyday: $(PEERS)  ## counting small files, and the start of the command line (a minute)
	$(BIN)/python -m benchmarks.everyday

bench-pipeline: $(PEERS)  ## planning, and runs against handwritten PySpark, TPC-H (most of an hour)
	$(BIN)/python -m benchmarks.pipeline_plan
	$(BIN)/python -m benchmarks.pipeline_overhead

bench-state: $(PEERS)  ## states: reads, appends and compaction, against fastavro (minutes)
	$(BIN)/python -m benchmarks.state_read
	$(BIN)/python -m benchmarks.state_write
	$(BIN)/python -m benchmarks.state_target
	$(BIN)/python -m benchmarks.state_accelerator

constraints: $(READY)  ## record the exact versions in use
	{ echo "# Exact versions that the tests were run with; refresh with 'make constraints'."; \
	  $(BIN)/pip freeze --exclude-editable; } > constraints.txt

clean:  ## remove everything that was made
	rm -rf $(VENV) site build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis demo-lake .bench
