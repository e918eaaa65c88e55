"""Uses the client that openapi-python-client made of /openapi.json, as a caller does: a patient, a query, the record, then a body
that is refused. Prints what it saw as JSON."""

import datetime
import json
import sys

from exchange_client import AuthenticatedClient
from exchange_client.api.consolidated_data import get_consolidated
from exchange_client.api.network_query import start_network_query
from exchange_client.api.patient import create_patient, get_patient
from exchange_client.models import (
    Address,
    CreatePatient,
    CreatePatientGenderAtBirth,
    NetworkQuerySources,
    SourceType,
)


def main(base_url: str, api_key: str, facility_id: str) -> None:
    client = AuthenticatedClient(base_url=base_url, token=api_key, prefix="", auth_header_name="x-api-key")
    jane = CreatePatient(
        first_name="Jane",
        last_name="Doe",
        dob=datetime.date(1980, 5, 17),
        gender_at_birth=CreatePatientGenderAtBirth.F,
        address=[Address(address_line_1="1 Main Street", city="Springfield", state="IL", zip_="62701", country="USA")],
    )
    created = create_patient.sync(client=client, facility_id=facility_id, body=jane)
    read = get_patient.sync(client=client, id=created.id)
    sources = NetworkQuerySources(sources=[SourceType.HIE, SourceType.LAB])
    query = start_network_query.sync(client=client, patient_id=created.id, body=sources)
    record = get_consolidated.sync(client=client, id=created.id)

    jane.dob = datetime.date(2980, 5, 17)
    refused = create_patient.sync(client=client, facility_id=facility_id, body=jane)

    seen = {
        "same": [str(created.id) == str(read.id), str(query.patient_id) == str(created.id)],
        "dob": read.dob,
        "sources": [source.type_.value for source in query.sources],
        "record": record.to_dict()["resourceType"],
        "refused": [refused.status, refused.code, refused.detail],
    }
    print(json.dumps(seen))


main(*sys.argv[1:])
