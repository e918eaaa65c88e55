import { bareId } from '../mail/mail-ids.ts';
import { readReportFields } from '../reports/report-fields.ts';

/**
 * Context of a Direct message (ONC, "Expressing Context in Direct Messaging",
 * 1.1): what it is about, in the sender's words.
 */
export interface MessageContext {
  version: string | undefined;

  /** Without brackets. */
  id: string | undefined;

  /** `root:extension`, as the sender wrote them. */
  patientIds: string[];

  /** Undefined also when the line has an attribute that the guide has not. */
  patient: ContextPatient | undefined;

  /** `radiology/report`; undefined also when the guide has no such type. */
  type: string | undefined;

  /** `treatment`, `research`, … */
  purpose: string | undefined;
}

/** The attributes of a context's patient, by the guide's names. */
export const CONTEXT_PATIENT_ATTRIBUTES = [
  'givenName',
  'middleName',
  'surname',
  'dateOfBirth',
  'gender',
  'socialSecurityNumber',
  'telephoneNumber',
  'streetAddress',
  'localityName',
  'stateOrProvinceName',
  'postalCode',
  'country',
  'directAddress',
] as const;
export type ContextPatientAttribute =
  (typeof CONTEXT_PATIENT_ATTRIBUTES)[number];
export type ContextPatient = Partial<Record<ContextPatientAttribute, string>>;

/** The Content-ID that a header `X-Direct-Context` names. */
export const contextReference = (header: string): string | undefined =>
  bareId(header);

/** Reads the part `metadata.txt`. What it does not state is undefined. */
export function readContext(text: string): MessageContext {
  const [fields] = readReportFields(text);

  return {
    version: fields?.get('version'),
    id: bareId(fields?.get('id')),
    patientIds: listOf(fields?.get('patient-id')),
    patient: readPatient(fields?.get('patient')),
    type: typeOf(fields?.get('type')),
    purpose: fields?.get('purpose'),
  };
}

/**
 * A person is a matter of all of the line: where one attribute is not of the
 * guide, nobody is concluded from the others.
 */
function readPatient(line: string | undefined): ContextPatient | undefined {
  const patient: ContextPatient = {};
  const pairs = listOf(line);

  for (const pair of pairs) {
    const equals = pair.indexOf('=');
    const attribute = attributeNamed(pair.slice(0, Math.max(equals, 0)));
    if (attribute === undefined || patient[attribute] !== undefined)
      return undefined;

    patient[attribute] = pair.slice(equals + 1).trim();
  }

  return pairs.length > 0 ? patient : undefined;
}

const TYPE =
  /^(?:general|laboratory|pharmacy|radiology)\/(?:notification|order|report|request|response|result)$/i;

function typeOf(written: string | undefined): string | undefined {
  return TYPE.test(written ?? '') ? written?.toLowerCase() : undefined;
}

function attributeNamed(written: string): ContextPatientAttribute | undefined {
  const name = written.trim().toLowerCase();

  return CONTEXT_PATIENT_ATTRIBUTES.find((each) => each.toLowerCase() === name);
}

function listOf(line: string | undefined): string[] {
  return (line ?? '')
    .split(';')
    .map((each) => each.trim())
    .filter((each) => each !== '');
}
