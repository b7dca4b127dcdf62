# The AWS side: SAM CLI in a virtual environment of its own, since its pins disagree with everybody else's.
#
#   make sam              install SAM CLI into .venv-sam
#   make sam-validate     both validate modes; neither includes the other
#   make sam-build        layers and functions for arm64, or with ARCHITECTURE=x86_64
#   make layer-lock       resolve layers/dependencies/requirements.in again, with hashes
#   make sam-lock         the same for SAM CLI itself

SAM_VENV := .venv-sam
SAM := $(SAM_VENV)/bin/sam
SAM_PIP := $(SAM_VENV)/bin/python -m pip --quiet --disable-pip-version-check
ARCHITECTURE ?= arm64
SAM_PYTHON ?= python3

# SAM wants a region even to look at a file; without these it also reports usage and asks for an instance's role.
SAM_ENVIRONMENT := SAM_CLI_TELEMETRY=0 AWS_EC2_METADATA_DISABLED=true AWS_DEFAULT_REGION=$${AWS_DEFAULT_REGION:-us-east-1}

LOCK_BUT_UNSAFE := pip-compile --quiet --generate-hashes --strip-extras --no-header --no-annotate --no-emit-options
LOCK := $(LOCK_BUT_UNSAFE) --allow-unsafe

# What the client of the search index shares with the dependencies layer.
IN_DEPENDENCIES := botocore numpy jmespath urllib3 python-dateutil six

.PHONY: sam sam-validate sam-build layer-lock sam-lock

sam: $(SAM_VENV)/.installed

# The lock is the whole closure, so nothing is resolved: pip would take a package with extras for another than the same
# one without and miss its pin. `pip check` says whether anything is absent.
$(SAM_VENV)/.installed: make/sam-requirements.txt
	$(SAM_PYTHON) -m venv $(SAM_VENV)
	$(SAM_PIP) install --require-hashes --requirement requirements/pip.txt
	$(SAM_PIP) install --no-deps --require-hashes --requirement make/sam-requirements.txt
	$(SAM_VENV)/bin/python -m pip check
	touch $@

sam-validate: sam
	$(SAM_ENVIRONMENT) $(SAM) validate
	$(SAM_ENVIRONMENT) $(SAM) validate --lint

sam-build: sam
	PYTHON=$(CURDIR)/$(SAM_VENV)/bin/python $(SAM_ENVIRONMENT) \
		$(SAM) build --no-cached --parameter-overrides Architecture=$(ARCHITECTURE)

# Any Python of the runtime's version, with pip-tools: hashes of every wheel are recorded, whatever the machine.
layer-lock:
	cd layers/dependencies && $(LOCK) --output-file requirements.txt requirements.in
	cd layers/dependencies && $(LOCK_BUT_UNSAFE) --unsafe-package numpy --output-file local-model.txt local-model.in
	cd layers/dependencies && $(LOCK_BUT_UNSAFE) $(addprefix --unsafe-package ,$(IN_DEPENDENCIES)) --output-file search.txt search.in

sam-lock:
	$(LOCK) --output-file make/sam-requirements.txt make/sam-requirements.in
