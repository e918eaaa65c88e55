import {
  type Coded,
  type DocumentMetadata,
  withoutUrn,
  writeCx,
  writeHl7Time,
} from '#ihe';
import {
  type Json,
  objectsOf,
  SYSTEM_SPELLINGS,
  textOf,
} from '#record-summary/fhir';
import { descriptionOf } from '../documents/describe-document.ts';
import type { ListedDocument } from '../documents/document-store.ts';
import { servedTypeOf } from '../documents/routes.ts';
import { uniqueIdOf } from './document-ids.ts';

/** OIDs of the code systems that have one, by their URLs. */
const OIDS = new Map(
  Object.entries(SYSTEM_SPELLINGS).flatMap(([spelling, url]) =>
    spelling.startsWith('urn:oid:')
      ? [[url, withoutUrn(spelling)] as const]
      : [],
  ),
);

/** What is not known is said to be so; nothing is invented in its place. */
const UNKNOWN: Coded = {
  code: 'UNK',
  system: '2.16.840.1.113883.5.1008',
  display: 'unknown',
};
/** The type of the bytes says all (ITI TF-3 4.2.3.2.9). */
const BY_MIME_TYPE: Coded = {
  code: 'urn:ihe:iti:xds:2017:mimeTypeSufficient',
  system: '1.3.6.1.4.1.19376.1.2.3',
  display: 'mimeType Sufficient',
};
const CONFIDENTIALITY = '2.16.840.1.113883.5.25';
const CONFIDENTIALITY_URL =
  'http://terminology.hl7.org/CodeSystem/v3-Confidentiality';
const NORMAL: Coded = { code: 'N', system: CONFIDENTIALITY, display: 'normal' };

/**
 * A contributed document as ITI-38 lists it: a stable entry. Home community and
 * repository are one.
 */
export function metadataOf(
  document: ListedDocument,
  ownCommunity: string,
  sha1: string | undefined,
): DocumentMetadata {
  const home = withoutUrn(ownCommunity);
  const reference = document.reference ?? {};
  const [context = {}] = objectsOf(reference.context);
  const [content = {}] = objectsOf(reference.content);
  const type = codedOf(reference.type);
  const [period = {}] = objectsOf(context.period);
  return {
    entryUuid: `urn:uuid:${document.id}`,
    uniqueId: uniqueIdOf(document.id),
    patientId: writeCx({ id: document.patientId, authority: home }),
    homeCommunity: home,
    repository: home,
    availability: 'Approved',
    mimeType: servedTypeOf(document),
    creationTime: writeHl7Time(createdAt(reference) ?? document.collectedAt),
    size: document.sizeBytes,
    hash: sha1,
    title: descriptionOf(document),
    serviceStart: hl7Date(period.start),
    serviceStop: hl7Date(period.end),
    classCode: codedOf(reference.category) ?? type ?? UNKNOWN,
    typeCode: type ?? UNKNOWN,
    formatCode: formatOf(content) ?? BY_MIME_TYPE,
    facilityType: codedOf(context.facilityType) ?? UNKNOWN,
    practiceSetting: codedOf(context.practiceSetting) ?? UNKNOWN,
    confidentiality: confidentialityOf(reference),
  };
}

function createdAt({ date }: Json): Date | undefined {
  const at = new Date(textOf(date) ?? '');
  return Number.isNaN(at.getTime()) ? undefined : at;
}

/** The date as it is written, because no time zone may move it. */
const hl7Date = (date: unknown): string | undefined =>
  /^\d{4}(?:-\d{2}){0,2}/.exec(textOf(date) ?? '')?.[0].replaceAll('-', '');

/** The first coding of the first concept; or its words as a code of our own. */
function codedOf(concepts: unknown): Coded | undefined {
  const [concept] = objectsOf(concepts);
  const [coding] = objectsOf(concept?.coding);
  return coding && coded(coding, textOf(concept?.text));
}

function coded(coding: Json, text?: string): Coded | undefined {
  const code = textOf(coding.code);
  const system = textOf(coding.system);
  if (code === undefined || system === undefined) return undefined;
  const display = textOf(coding.display) ?? text ?? code;
  return { code, system: OIDS.get(system) ?? withoutUrn(system), display };
}

const formatOf = ({ format }: Json): Coded | undefined =>
  objectsOf(format).map((coding) => coded(coding))[0];

function confidentialityOf(reference: Json): Coded[] {
  const [meta = {}] = objectsOf(reference.meta);
  const labels = [
    ...objectsOf(meta.security),
    ...objectsOf(reference.securityLabel).flatMap(({ coding }) =>
      objectsOf(coding),
    ),
  ];
  const stated = labels
    .filter(({ system }) => system === CONFIDENTIALITY_URL)
    .flatMap(({ code }) => textOf(code) ?? []);
  return stated.length === 0
    ? [NORMAL]
    : [...new Set(stated)].map((code) => ({
        code,
        system: CONFIDENTIALITY,
        display: code,
      }));
}
