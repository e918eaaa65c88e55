import { lastSegment } from '../errors.ts';
import {
  isSameId,
  type PatientIdentifier,
  readCx,
  withoutApostrophes,
} from '../identifiers.ts';
import { type Hl7Time, readHl7Time } from '../times.ts';
import { attributeOf, type XmlElement } from '../xml/xml-element.ts';
import {
  type Coded,
  classificationsOf,
  readCodes,
  readIdentifier,
  readLocalizedString,
  readSlots,
} from './registry-elements.ts';
import {
  CLASSIFICATION_SCHEMES,
  IDENTIFIER_SCHEMES,
  ON_DEMAND_ENTRY,
} from './registry-names.ts';

/** Who made a document. Texts as written: names, or HL7's XCN and XON. */
export interface DocumentAuthor {
  persons: string[];
  institutions: string[];
  roles: string[];
  specialties: string[];
  telecoms: string[];
}

/** What was odd about an entry that could be read nevertheless. */
export type EntryRemark =
  | 'no-unique-id'
  | 'no-repository'
  | 'no-home-community'
  | 'no-mime-type'
  | 'unreadable-size'
  | 'unreadable-time';

/**
 * The metadata of one document (ITI TF-3 4.2.3.2). Ids are kept as they came: a
 * document is retrieved by them, letter for letter.
 */
export interface DocumentEntry {
  uniqueId: string | undefined;

  /** The id of the entry itself. */
  entryUuid: string | undefined;

  /** With or without `urn:oid:`, as it came. */
  homeCommunity: string | undefined;

  repository: string | undefined;

  /** The document is made when it is retrieved, and new each time. */
  isOnDemand: boolean;

  /** Approved, Deprecated; some write Active. */
  availability: string | undefined;

  /** The patient, without apostrophes around it. */
  patientId: string | undefined;

  patient: PatientIdentifier | undefined;

  /** The patient's id, and facts, as the source of the document knows them. */
  sourcePatientId: string | undefined;

  /** HL7 v2's fields: `PID-3|…`, `PID-5|…`. */
  sourcePatientInfo: string[];

  mimeType: string | undefined;
  title: string | undefined;
  comments: string | undefined;
  language: string | undefined;
  creationTime: Hl7Time | undefined;
  serviceStart: Hl7Time | undefined;
  serviceStop: Hl7Time | undefined;

  /** Bytes; may be 0, or wrong. */
  size: number | undefined;

  /** SHA-1 in hexadecimal, as written; may be wrong. */
  hash: string | undefined;

  uri: string | undefined;
  legalAuthenticator: string | undefined;
  authors: DocumentAuthor[];
  classCode: Coded | undefined;
  typeCode: Coded | undefined;
  formatCode: Coded | undefined;
  facilityType: Coded | undefined;
  practiceSetting: Coded | undefined;
  confidentiality: Coded[];
  eventCodes: Coded[];

  /** References to other ids, CXi. */
  referenceIds: string[];

  /** To whom an entry of a submission is directed; mostly at the set instead. */
  intendedRecipients: string[];

  remarks: EntryRemark[];
}

/** Reads the metadata of one ExtrinsicObject. */
export function readDocumentEntry(object: XmlElement): DocumentEntry {
  const slots = readSlots(object);
  const slot = (name: string): string | undefined => slots.get(name)?.[0];
  const code = (scheme: string): Coded | undefined =>
    readCodes(object, scheme)[0];
  const time = (name: string): Hl7Time | undefined => {
    const written = slot(name);

    return written === undefined ? undefined : readHl7Time(written);
  };

  const patientId = readIdentifier(
    object,
    IDENTIFIER_SCHEMES.documentPatientId,
  );
  const status = attributeOf(object, 'status');

  const entry: Omit<DocumentEntry, 'remarks'> = {
    uniqueId: readIdentifier(object, IDENTIFIER_SCHEMES.documentUniqueId),
    entryUuid: attributeOf(object, 'id'),
    homeCommunity: attributeOf(object, 'home'),
    repository: slot('repositoryUniqueId'),
    isOnDemand: isSameId(
      attributeOf(object, 'objectType') ?? '',
      ON_DEMAND_ENTRY,
    ),
    availability: status === undefined ? undefined : lastSegment(status),
    patientId:
      patientId === undefined ? undefined : withoutApostrophes(patientId),
    patient: patientId === undefined ? undefined : readCx(patientId),
    sourcePatientId: slot('sourcePatientId'),
    sourcePatientInfo: slots.get('sourcePatientInfo') ?? [],
    mimeType: attributeOf(object, 'mimeType'),
    title: readLocalizedString(object, 'Name'),
    comments: readLocalizedString(object, 'Description'),
    language: slot('languageCode'),
    creationTime: time('creationTime'),
    serviceStart: time('serviceStartTime'),
    serviceStop: time('serviceStopTime'),
    size: readSize(slot('size')),
    hash: slot('hash'),
    uri: slot('URI'),
    legalAuthenticator: slot('legalAuthenticator'),
    authors: readAuthors(object, CLASSIFICATION_SCHEMES.author),
    classCode: code(CLASSIFICATION_SCHEMES.class),
    typeCode: code(CLASSIFICATION_SCHEMES.type),
    formatCode: code(CLASSIFICATION_SCHEMES.format),
    facilityType: code(CLASSIFICATION_SCHEMES.facilityType),
    practiceSetting: code(CLASSIFICATION_SCHEMES.practiceSetting),
    confidentiality: readCodes(object, CLASSIFICATION_SCHEMES.confidentiality),
    eventCodes: readCodes(object, CLASSIFICATION_SCHEMES.event),
    referenceIds: slots.get('urn:ihe:iti:xds:2013:referenceIdList') ?? [],
    intendedRecipients: slots.get('intendedRecipient') ?? [],
  };

  return { ...entry, remarks: entryRemarks(entry, slot('size')) };
}

/** The authors of a document or a submission, by the scheme of either. */
export function readAuthors(
  object: XmlElement,
  scheme: string,
): DocumentAuthor[] {
  return classificationsOf(object, scheme).map((classification) => {
    const slots = readSlots(classification);

    return {
      persons: slots.get('authorPerson') ?? [],
      institutions: slots.get('authorInstitution') ?? [],
      roles: slots.get('authorRole') ?? [],
      specialties: slots.get('authorSpecialty') ?? [],
      telecoms: slots.get('authorTelecommunication') ?? [],
    };
  });
}

/**
 * The one form in which two hashes are compared: hexadecimal in lower case.
 */
export function comparableHash(hash: string): string {
  return hash.trim().toLowerCase();
}

function readSize(written: string | undefined): number | undefined {
  return written !== undefined && /^\d{1,15}$/.test(written)
    ? Number(written)
    : undefined;
}

function entryRemarks(
  entry: Omit<DocumentEntry, 'remarks'>,
  sizeWritten: string | undefined,
): EntryRemark[] {
  const remarks: EntryRemark[] = [];
  const times = [entry.creationTime, entry.serviceStart, entry.serviceStop];

  if (entry.uniqueId === undefined) remarks.push('no-unique-id');
  if (entry.repository === undefined) remarks.push('no-repository');
  if (entry.homeCommunity === undefined) remarks.push('no-home-community');
  if (entry.mimeType === undefined) remarks.push('no-mime-type');
  if (sizeWritten !== undefined && entry.size === undefined) {
    remarks.push('unreadable-size');
  }
  if (times.some((time) => time !== undefined && time.date === undefined)) {
    remarks.push('unreadable-time');
  }

  return remarks;
}
