import { withUrnOid } from '../identifiers.ts';
import { type XmlFragment, xml } from '../xml/write-xml.ts';
import type { DocumentAuthor } from './document-entry.ts';
import {
  type Coded,
  registryPartId,
  writeCode,
  writeIdentifier,
  writeLocalizedString,
  writeSlot,
} from './registry-elements.ts';
import {
  CLASSIFICATION_SCHEMES,
  IDENTIFIER_SCHEMES,
  ON_DEMAND_ENTRY,
  STABLE_ENTRY,
  STATUS_TYPE,
} from './registry-names.ts';

/** The metadata of one document, as whoever offers or submits it states them. */
export interface DocumentMetadata {
  /** In a submission, also the id by which its Document is told. */
  entryUuid: string;

  uniqueId: string;

  /** CX: `id^^^&oid&ISO`. */
  patientId: string;

  mimeType: string;

  /** HL7 digits in UTC; none for a document made on demand. */
  creationTime?: string | undefined;

  homeCommunity?: string | undefined;
  repository?: string | undefined;
  isOnDemand?: boolean | undefined;

  /** Only what is registered has one; a submission has none. */
  availability?: 'Approved' | 'Deprecated' | undefined;

  title?: string | undefined;
  language?: string | undefined;
  serviceStart?: string | undefined;
  serviceStop?: string | undefined;
  size?: number | undefined;
  hash?: string | undefined;
  sourcePatientId?: string | undefined;
  sourcePatientInfo?: readonly string[] | undefined;

  /** Where the document is on media (XDM), relative to the metadata. */
  uri?: string | undefined;

  authors?: readonly DocumentAuthor[] | undefined;
  classCode?: Coded | undefined;
  typeCode?: Coded | undefined;
  formatCode?: Coded | undefined;
  facilityType?: Coded | undefined;
  practiceSetting?: Coded | undefined;
  confidentiality?: readonly Coded[] | undefined;
}

/** Writes an ObjectRef: the entry's id, and the community that has it. */
export function writeDocumentReference(entry: DocumentMetadata): XmlFragment {
  const home =
    entry.homeCommunity === undefined
      ? undefined
      : xml` home="${withUrnOid(entry.homeCommunity)}"`;

  return xml`<rim:ObjectRef id="${entry.entryUuid}"${home}/>`;
}

/** Writes an ExtrinsicObject, in the order of the schema. */
export function writeDocumentEntry(entry: DocumentMetadata): XmlFragment {
  const id = entry.entryUuid;
  const code = (scheme: string, coded: Coded | undefined) =>
    writeCode(id, scheme, coded);

  const home =
    entry.homeCommunity === undefined
      ? undefined
      : xml` home="${withUrnOid(entry.homeCommunity)}"`;

  const status =
    entry.availability === undefined
      ? undefined
      : xml` status="${STATUS_TYPE}${entry.availability}"`;

  return xml`
    <rim:ExtrinsicObject
      id="${id}"
      mimeType="${entry.mimeType}"
      objectType="${entry.isOnDemand ? ON_DEMAND_ENTRY : STABLE_ENTRY}"${home}${status}>
      ${writeSlot('creationTime', [entry.creationTime])}
      ${writeSlot('hash', [entry.hash])}
      ${writeSlot('languageCode', [entry.language ?? 'en-US'])}
      ${writeSlot('repositoryUniqueId', [entry.repository])}
      ${writeSlot('serviceStartTime', [entry.serviceStart])}
      ${writeSlot('serviceStopTime', [entry.serviceStop])}
      ${writeSlot('size', [entry.size === undefined ? undefined : String(entry.size)])}
      ${writeSlot('sourcePatientId', [entry.sourcePatientId ?? entry.patientId])}
      ${writeSlot('sourcePatientInfo', entry.sourcePatientInfo ?? [])}
      ${writeSlot('URI', [entry.uri])}
      ${writeLocalizedString('Name', entry.title)}
      ${(entry.authors ?? []).map((author, at) =>
        writeAuthor(id, CLASSIFICATION_SCHEMES.author, author, at),
      )}
      ${code(CLASSIFICATION_SCHEMES.class, entry.classCode)}
      ${(entry.confidentiality ?? []).map((coded) =>
        code(CLASSIFICATION_SCHEMES.confidentiality, coded),
      )}
      ${code(CLASSIFICATION_SCHEMES.format, entry.formatCode)}
      ${code(CLASSIFICATION_SCHEMES.facilityType, entry.facilityType)}
      ${code(CLASSIFICATION_SCHEMES.practiceSetting, entry.practiceSetting)}
      ${code(CLASSIFICATION_SCHEMES.type, entry.typeCode)}
      ${writeIdentifier(
        id,
        IDENTIFIER_SCHEMES.documentPatientId,
        'XDSDocumentEntry.patientId',
        entry.patientId,
      )}
      ${writeIdentifier(
        id,
        IDENTIFIER_SCHEMES.documentUniqueId,
        'XDSDocumentEntry.uniqueId',
        entry.uniqueId,
      )}
    </rim:ExtrinsicObject>
  `;
}

/** An author of the object with that id, by the scheme of its kind. */
export function writeAuthor(
  objectId: string,
  scheme: string,
  author: DocumentAuthor,
  at: number,
): XmlFragment {
  return xml`
    <rim:Classification
      id="${registryPartId(objectId, scheme, String(at))}"
      classificationScheme="${scheme}"
      classifiedObject="${objectId}"
      nodeRepresentation=""
      objectType="urn:oasis:names:tc:ebxml-regrep:ObjectType:RegistryObject:Classification">
      ${writeSlot('authorPerson', author.persons)}
      ${writeSlot('authorInstitution', author.institutions)}
      ${writeSlot('authorRole', author.roles)}
      ${writeSlot('authorSpecialty', author.specialties)}
      ${writeSlot('authorTelecommunication', author.telecoms)}
    </rim:Classification>
  `;
}
