import { type Json, textOf } from '../../rules/json.ts';
import { concept, conceptBeside } from './datatypes.ts';
import { dosagesOf } from './dosages.ts';
import {
  attribute,
  type CdaElement,
  childOf,
  childrenOf,
  line,
  select,
  statusOf,
} from './element.ts';
import {
  ABSENT,
  MAPS,
  mapped,
  resourceOf,
  type Scope,
  type TemplateName,
  withName,
} from './table.ts';
import { isToCome, statedTime } from './times.ts';
import { boundsOf } from './timings.ts';

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
export function drug(node: CdaElement, scope: Scope): Json | undefined {
  const at = (path: string) => select(node, path)[0];
  const named = (path: string) => {
    const text = line(at(path), scope);
    return text === undefined ? undefined : { text };
  };
  for (const product of [
    'consumable/manufacturedProduct',
    'product/manufacturedProduct',
  ])
    for (const material of [
      'manufacturedMaterial',
      'manufacturedLabeledDrug',
    ]) {
      const name = line(at(`${product}/${material}/name`), scope);
      const code = conceptBeside(
        name,
        at(`${product}/${material}/code`),
        scope,
      );
      if (code !== undefined) return withName(code, named('text'));
      if (name !== undefined) return { text: name };
    }
  if (node.name === 'supply') return undefined;
  return concept(childOf(node, 'code'), scope) ?? named('text');
}

/**
 * The drug as `medication[x]`: a Medication when the document says more of it
 * than what it is.
 */
function medicationOf(node: CdaElement, scope: Scope): Json {
  const code = drug(node, scope);
  const { form, ...more } = mapped('Medication', node, scope) ?? {};
  if (code === undefined || Object.keys(more).length === 0)
    return { medicationCodeableConcept: code ?? ABSENT };
  const display = code.text ?? (code.coding as Json[] | undefined)?.[0]?.code;
  return {
    contained: [
      { resourceType: 'Medication', id: 'medication', code, form, ...more },
    ],
    medicationReference: { reference: '#medication', display },
  };
}

/**
 * The status of a drug. "Completed" may mean only that the entry was written
 * (C-CDA on FHIR, "Medication Status"): taking has ended if the end is stated
 * and not after the document. With a later end it goes on; without one it is
 * unknown whether it does.
 */
export function medicationStatus(node: CdaElement, scope: Scope): string {
  const status = MAPS.MedicationStatus[statusOf(node) ?? ''] ?? 'unknown';
  if (status !== 'completed') return status;
  const bounds = boundsOf(childrenOf(node, 'effectiveTime'));
  const { at, high } = statedTime(bounds, scope.offset);
  const end = (high ?? at)?.value;
  if (end === undefined) return 'unknown';
  return isToCome(end, scope.day) ? 'active' : status;
}

/**
 * What was requested in a plan is only planned; in a list of medications an
 * intention is a prescription.
 */
export const intentOf = (node: CdaElement, { section }: Scope): string =>
  MAPS.RequestIntent[attribute(node, 'moodCode') ?? ''] ??
  (section === 'medications' || section === 'immunizations' ? 'order' : 'plan');

/**
 * What a document says of a drug: given by staff, taken (an event), or ordered
 * and intended.
 */
export function medication(node: CdaElement, scope: Scope): Json {
  const isGiven =
    scope.section === 'administered medications' &&
    attribute(node, 'negationInd') !== 'true';
  const name: TemplateName = isPlanned(node)
    ? 'MedicationRequest'
    : isGiven
      ? 'MedicationAdministration'
      : 'MedicationStatement';
  const made = resourceOf(name, node, scope) ?? {};
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
export function supplies(node: CdaElement, scope: Scope): Json[] {
  const ofDrug = medicationOf(node, scope);
  return select(node, 'entryRelationship/supply').flatMap((each) =>
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

const supplyResource = (node: CdaElement, scope: Scope): Json =>
  resourceOf(
    isPlanned(node) ? 'SupplyOrder' : 'MedicationDispense',
    node,
    scope,
  ) ?? {};

function ownDrug(supply: CdaElement, scope: Scope): Json | undefined {
  const medicationCodeableConcept = drug(supply, scope);
  return medicationCodeableConcept && { medicationCodeableConcept };
}

/** A supply of its own: of a drug; undefined for anything else. */
export function supply(node: CdaElement, scope: Scope): Json | undefined {
  const own = ownDrug(node, scope);
  return own && { ...supplyResource(node, scope), ...own };
}

/** How a drug is taken, one dosage for each frequency (`dosagesOf`). */
export function dosages(administration: CdaElement, scope: Scope): Json[] {
  const text = textOf(drug(administration, scope)?.text);
  return dosagesOf(administration, scope, text);
}

/** How a drug was given, as `MedicationAdministration.dosage`. */
export function given(
  administration: CdaElement,
  scope: Scope,
): Json | undefined {
  const [first = {}] = dosages(administration, scope);
  const { text, site, route, doseAndRate } = first;
  const [amount] = (doseAndRate ?? []) as Json[];
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
