import {
  isRegistryElement,
  readSlots,
  registryChild,
  writeSlot,
} from '../ebxml/registry-elements.ts';
import {
  FIND_DOCUMENTS,
  ON_DEMAND_ENTRY,
  STABLE_ENTRY,
  STATUS_TYPE,
} from '../ebxml/registry-names.ts';
import {
  isSameId,
  type PatientIdentifier,
  queryLiteral,
  readCx,
  readQueryLiterals,
  withUrnOid,
  writeCx,
} from '../identifiers.ts';
import { messageElement } from '../message-element.ts';
import { EBXML_QUERY, EBXML_RIM } from '../namespaces.ts';
import { writeHl7Time } from '../times.ts';
import { type XmlFragment, xml } from '../xml/write-xml.ts';
import { attributeOf, type XmlElement } from '../xml/xml-element.ts';

/** A period of time; one end may be open. */
export interface DocumentPeriod {
  from?: Date | undefined;
  to?: Date | undefined;
}

/** A question for the documents of a patient. */
export interface FindDocumentsQuestion {
  /** The patient as the community asked knows them, from ITI-55. */
  patient: PatientIdentifier;

  /** With or without `urn:oid:`. Many gateways refuse a question without. */
  homeCommunity?: string | undefined;

  /** Documents made on demand are listed only if asked for. */
  includeOnDemand?: boolean | undefined;

  /** Some gateways need dates, some refuse them. */
  created?: DocumentPeriod | undefined;
  serviceStarted?: DocumentPeriod | undefined;
}

/** Writes ITI-38's FindDocuments for approved documents. */
export function buildFindDocuments(
  question: FindDocumentsQuestion,
): XmlFragment {
  const { homeCommunity, created, serviceStarted } = question;
  const types = question.includeOnDemand
    ? [STABLE_ENTRY, ON_DEMAND_ENTRY]
    : [STABLE_ENTRY];

  const home =
    homeCommunity === undefined
      ? undefined
      : xml` home="${withUrnOid(homeCommunity)}"`;

  return xml`
    <query:AdhocQueryRequest xmlns:query="${EBXML_QUERY}" xmlns:rim="${EBXML_RIM}">
      <query:ResponseOption returnType="LeafClass" returnComposedObjects="true"/>
      <rim:AdhocQuery id="${FIND_DOCUMENTS}"${home}>
        ${writeSlot('$XDSDocumentEntryPatientId', [
          queryLiteral(writeCx(question.patient)),
        ])}
        ${writeSlot('$XDSDocumentEntryStatus', [
          quotedList([`${STATUS_TYPE}Approved`]),
        ])}
        ${writeSlot('$XDSDocumentEntryType', [quotedList(types)])}
        ${writePeriod('$XDSDocumentEntryCreationTime', created)}
        ${writePeriod('$XDSDocumentEntryServiceStartTime', serviceStarted)}
      </rim:AdhocQuery>
    </query:AdhocQueryRequest>
  `;
}

function quotedList(values: readonly string[]): string {
  return `(${values.map(queryLiteral).join(',')})`;
}

function writePeriod(
  slot: string,
  period: DocumentPeriod | undefined,
): (XmlFragment | undefined)[] {
  return [
    writeSlot(`${slot}From`, [period?.from && writeHl7Time(period.from)]),
    writeSlot(`${slot}To`, [period?.to && writeHl7Time(period.to)]),
  ];
}

/** ITI-38's question, as a responding gateway reads it. */
export interface DocumentQueryRequest {
  /** As written; FindDocuments is `FIND_DOCUMENTS`. */
  queryId: string | undefined;

  isFindDocuments: boolean;

  /** As written. */
  homeCommunity: string | undefined;

  /** LeafClass or ObjectRef. */
  returnType: string | undefined;

  patient: PatientIdentifier | undefined;

  /** Empty means stable entries only. */
  wantsOnDemand: boolean;
  wantsStable: boolean;

  /** The values of each slot, as written. */
  slots: ReadonlyMap<string, readonly string[]>;
}

/**
 * Reads AdhocQueryRequest.
 *
 * @param payload the element in the SOAP body
 */
export function readDocumentQuery(payload: XmlElement): DocumentQueryRequest {
  const request = messageElement(payload, (element) =>
    isRegistryElement(element, 'AdhocQueryRequest'),
  );
  const query = registryChild(request, 'AdhocQuery');
  const queryId = attributeOf(query, 'id');
  const slots = query === undefined ? new Map() : readSlots(query);
  const patientId = slots.get('$XDSDocumentEntryPatientId')?.[0];
  const types = queryValues(slots.get('$XDSDocumentEntryType'));
  const wants = (type: string) => types.some((each) => isSameId(each, type));

  return {
    queryId,
    isFindDocuments: isSameId(queryId ?? '', FIND_DOCUMENTS),
    homeCommunity: attributeOf(query, 'home'),
    returnType: attributeOf(
      registryChild(request, 'ResponseOption'),
      'returnType',
    ),
    patient: patientId === undefined ? undefined : readCx(patientId),
    wantsOnDemand: wants(ON_DEMAND_ENTRY),
    wantsStable: types.length === 0 || wants(STABLE_ENTRY),
    slots,
  };
}

/**
 * The values of a slot of a stored query. Several Value elements, and several
 * members of one list, both mean "or" (ITI TF-2 3.18.4.1.2.3.5).
 */
export function queryValues(values: readonly string[] | undefined): string[] {
  return (values ?? []).flatMap(readQueryLiterals);
}
