import { inspect } from 'node:util';
import { expect, test } from 'vitest';
import {
  readFindDocumentsResponse,
  readPatientDiscoveryResponse,
} from '../src/index.ts';
import { payloadOf } from './payloads.ts';

const shown = (value: unknown) =>
  `${JSON.stringify(value)}\n${inspect(value, { depth: 10 })}`;

test("the words of a registry's error are in neither JSON nor logs", () => {
  const response = readFindDocumentsResponse(
    payloadOf(
      '<AdhocQueryResponse xmlns="urn:oasis:names:tc:ebxml-regrep:xsd:query:3.0" status="Failure"><RegistryErrorList xmlns="urn:oasis:names:tc:ebxml-regrep:xsd:rs:3.0"><RegistryError errorCode="XDSRegistryError" codeContext="no consent of Jane Public" location="Jane Public">patient Jane Public</RegistryError></RegistryErrorList></AdhocQueryResponse>',
    ),
  );

  expect(response.problems[0]?.confidentialText()).toContain('Jane Public');
  expect(shown(response)).toContain('XDSRegistryError');
  expect(shown(response)).not.toContain('Jane');
});

test("the words of a discovery's acknowledgement are in neither JSON nor logs", () => {
  const response = readPatientDiscoveryResponse(
    payloadOf(
      '<PRPA_IN201306UV02 xmlns="urn:hl7-org:v3"><acknowledgement><typeCode code="AE"/><acknowledgementDetail><code code="INTERR"/><text>no such patient: Jane Public</text></acknowledgementDetail></acknowledgement></PRPA_IN201306UV02>',
    ),
  );

  expect(response.outcome).toBe('failed');
  expect(shown(response)).not.toContain('Jane');
});
