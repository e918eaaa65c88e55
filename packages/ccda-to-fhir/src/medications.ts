import { concept, conceptBeside, numberOf } from './datatypes.ts';
import { dosagesOf } from './dosages.ts';
import {
  attribute,
  type CdaElement,
  childOf,
  childrenOf,
  elementsAt,
  line,
  markRead,
  statusCode,
  templatesOf,
} from './element.ts';
import { type FhirJson, fhirText } from './json.ts';
import { cdaTable } from './lookup-table.ts';
import {
  ABSENT,
  type DocumentScope,
  mapped,
  templateResource,
  withName,
} from './table.ts';
import type { ResourceTemplateName } from './template-types.ts';
import { isToCome, statedTime } from './times.ts';
import { boundsOf } from './timings.ts';
import { MAPS } from './value-maps.ts';

/**
 * Moods of a statement that has come true: an event, or a criterion of one that
 * some documents write beside it.
 */
const TRUE_MOODS = ['EVN', 'EVN.CRT', undefined];
export const isPlanned = (node: CdaElement): boolean =>
  !TRUE_MOODS.includes(attribute(node, 'moodCode'));

/**
 * The drug by its code, otherwise by what the document calls it anywhere in the
 * entry.
 */
export function drug(
  node: CdaElement,
  scope: DocumentScope,
): FhirJson | undefined {
  const said = line(childOf(node, 'text'), scope);
  const text = said === undefined ? undefined : { text: said };
  const product = productOf(node, scope);
  if (product !== undefined) return withName(product, text);
  if (node.name === 'supply') return undefined;
  return concept(childOf(node, 'code'), scope) ?? text;
}

/** The product that an administration or a supply names. */
function productOf(
  node: CdaElement,
  scope: DocumentScope,
): FhirJson | undefined {
  const products = elementsAt(node, 'consumable/manufacturedProduct').concat(
    elementsAt(node, 'product/manufacturedProduct'),
  );
  return products
    .flatMap((product) => [
      childOf(product, 'manufacturedMaterial'),
      childOf(product, 'manufacturedLabeledDrug'),
    ])
    .map((material) => {
      const name = line(childOf(material, 'name'), scope);
      const code = conceptBeside(name, childOf(material, 'code'), scope);
      return code ?? (name === undefined ? undefined : { text: name });
    })
    .find((found) => found !== undefined);
}

/**
 * The drug as `medication[x]`: a Medication when the document says more of it
 * than what it is.
 */
function medicationOf(node: CdaElement, scope: DocumentScope): FhirJson {
  const code = drug(node, scope);
  const { form, ...more } = mapped('Medication', node, scope) ?? {};
  if (code === undefined || Object.keys(more).length === 0)
    return { medicationCodeableConcept: code ?? ABSENT };
  const display =
    code.text ?? (code.coding as FhirJson[] | undefined)?.[0]?.code;
  return {
    contained: [
      { resourceType: 'Medication', id: 'medication', code, form, ...more },
    ],
    medicationReference: { reference: '#medication', display },
  };
}

/** What a status observation says of a drug, by SNOMED CT or in words. */
const STATED_STATUSES: Readonly<Record<string, string>> = cdaTable({
  '55561003': 'active',
  active: 'active',
  '73425007': 'completed',
  '392521001': 'completed',
  inactive: 'completed',
  'no longer active': 'completed',
  'prior history': 'completed',
  '421139008': 'on-hold',
  'on hold': 'on-hold',
  discontinued: 'stopped',
});

/** What the status observation of a drug says (LOINC 33999-4). */
function statedStatus(
  node: CdaElement,
  scope: DocumentScope,
): string | undefined {
  const observed = elementsAt(
    node,
    'entryRelationship/observation[code=33999-4]',
  );
  return observed
    .flatMap((each) => [childOf(each, 'value'), childOf(each, 'text')])
    .flatMap((each) => [
      attribute(each, 'code'),
      fhirText(concept(each, scope)?.text) ?? line(each, scope),
    ])
    .map((said) => STATED_STATUSES[said?.toLowerCase() ?? ''])
    .find(Boolean);
}

/** Statuses of an entry that end or interrupt a drug, whatever else is said. */
const ENDING = ['cancelled', 'stopped', 'on-hold'];

/**
 * The status of a drug: that of its entry if this ends it, otherwise that of its
 * status observation. "Completed" may mean only that the entry was written
 * (C-CDA on FHIR, "Medication Status"): taking has ended if the end is stated
 * and not after the document, also where an observation calls it active. With a
 * later end it goes on; without one it is unknown whether it does.
 */
export function medicationStatus(
  node: CdaElement,
  scope: DocumentScope,
): string {
  const status = MAPS.MedicationStatus[statusCode(node) ?? ''] ?? 'unknown';
  const stated = statedStatus(node, scope);
  if (ENDING.includes(status)) return status;
  if (stated !== undefined && stated !== 'active') return stated;
  if (status !== 'completed') return stated ?? status;
  const bounds = boundsOf(childrenOf(node, 'effectiveTime'));
  const { at, high } = statedTime(bounds, scope.offset);
  const end = (high ?? at)?.value;
  if (end === undefined) return stated ?? 'unknown';
  return isToCome(end, scope.day) ? 'active' : status;
}

/**
 * What was requested in a plan is only planned; in a list of medications an
 * intention is a prescription.
 */
export const intentOf = (
  node: CdaElement,
  { section }: DocumentScope,
): string =>
  MAPS.RequestIntent[attribute(node, 'moodCode') ?? ''] ??
  (section === 'medications' || section === 'immunizations' ? 'order' : 'plan');

/**
 * What a document says of a drug: given by staff, taken (an event), or ordered
 * and intended.
 */
export function medication(node: CdaElement, scope: DocumentScope): FhirJson {
  const isGiven =
    scope.section === 'administered medications' &&
    attribute(node, 'negationInd') !== 'true';
  const name: ResourceTemplateName = isPlanned(node)
    ? 'MedicationRequest'
    : isGiven
      ? 'MedicationAdministration'
      : 'MedicationStatement';
  const made = templateResource(name, node, scope) ?? {};
  const isDated =
    made.effectiveDateTime !== undefined || made.effectivePeriod !== undefined;
  const undated = isGiven && !isDated && name === 'MedicationAdministration';
  return {
    ...made,
    ...medicationOf(node, scope),
    _effectiveDateTime: undated ? ABSENT : made._effectiveDateTime,
  };
}

/**
 * What was dispensed of a drug, and, if the drug was stated as taken, what was
 * ordered.
 */
export function supplies(node: CdaElement, scope: DocumentScope): FhirJson[] {
  const ofDrug = medicationOf(node, scope);
  return elementsAt(node, 'entryRelationship/supply').flatMap((each) =>
    isPlanned(each) && isPlanned(node)
      ? []
      : [
          {
            ...supplyResource(each, scope),
            ...(ownDrug(each, scope) ?? ofDrug),
          },
        ],
  );
}

const supplyResource = (node: CdaElement, scope: DocumentScope): FhirJson =>
  templateResource(
    isPlanned(node) ? 'SupplyOrder' : 'MedicationDispense',
    node,
    scope,
  ) ?? {};

function ownDrug(
  supply: CdaElement,
  scope: DocumentScope,
): FhirJson | undefined {
  const medicationCodeableConcept = drug(supply, scope);
  return medicationCodeableConcept && { medicationCodeableConcept };
}

/** A supply of its own: of a drug; undefined for anything else. */
export function supply(
  node: CdaElement,
  scope: DocumentScope,
): FhirJson | undefined {
  const own = ownDrug(node, scope);
  return own && { ...supplyResource(node, scope), ...own };
}

/**
 * How a drug is taken, one dosage for each frequency (`dosagesOf`); then those of
 * its parts that name no drug of their own, such as the steps of a taper, in
 * their stated sequence.
 */
export function dosages(
  administration: CdaElement,
  scope: DocumentScope,
): FhirJson[] {
  const text = fhirText(drug(administration, scope)?.text);
  const steps = elementsAt(administration, STEPS).flatMap((relationship) =>
    childrenOf(relationship, 'substanceAdministration')
      .filter((part) => isStep(part, scope))
      .flatMap((part) => {
        markRead(part);
        return dosagesOf(part, scope, text);
      })
      .map((step) => ({
        sequence: numberOf(childOf(relationship, 'sequenceNumber')),
        ...step,
      })),
  );
  return dosagesOf(administration, scope, text).concat(steps);
}

const STEPS = 'entryRelationship[@typeCode=COMP]';

/** Whether a part of a drug says how this is taken, and names no drug. */
const isStep = (part: CdaElement, scope: DocumentScope): boolean =>
  // A copy, because another drug is read as a statement of its own.
  productOf(structuredClone(part), scope) === undefined && !isSig(part);

/** Whether a part is the free text sig of a drug. */
const isSig = (part: CdaElement): boolean =>
  templatesOf(part).includes('4.147') ||
  attribute(childOf(part, 'code'), 'code') === '76662-6';

/** How a drug was given, as `MedicationAdministration.dosage`. */
export function given(
  administration: CdaElement,
  scope: DocumentScope,
): FhirJson | undefined {
  const [first = {}] = dosages(administration, scope);
  const { text, site, route, doseAndRate } = first;
  const [amount] = (doseAndRate ?? []) as FhirJson[];
  const made = {
    text,
    site,
    route,
    dose: amount?.doseQuantity,
    rateQuantity: amount?.rateQuantity,
  };
  return Object.values(made).some((part) => part !== undefined)
    ? made
    : undefined;
}
