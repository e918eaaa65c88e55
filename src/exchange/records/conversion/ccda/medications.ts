import type { Json } from '../../rules/json.ts';
import { concept } from './datatypes.ts';
import { attribute, type CdaElement, childOf, select, statusOf } from './element.ts';
import { line } from './narrative.ts';
import { ABSENT, MAPS, mapped, resourceOf, type Scope, type TemplateName, withName } from './table.ts';
import { statedTime } from './times.ts';

/** Moods of a statement that has come true: an event, or a criterion of one that some documents write beside it. */
const TRUE_MOODS = ['EVN', 'EVN.CRT', undefined];
export const isPlanned = (node: CdaElement): boolean => !TRUE_MOODS.includes(attribute(node, 'moodCode'));

/** The drug by its code, otherwise by what the document calls it anywhere in the entry. */
export function drug(node: CdaElement, scope: Scope): Json | undefined {
  const at = (path: string) => select(node, path)[0];
  const named = (path: string) => {
    const text = line(at(path), scope);
    return text === undefined ? undefined : { text };
  };
  for (const product of ['consumable/manufacturedProduct', 'product/manufacturedProduct'])
    for (const material of ['manufacturedMaterial', 'manufacturedLabeledDrug']) {
      const [code, name] = [
        concept(at(`${product}/${material}/code`), scope),
        named(`${product}/${material}/name`),
      ];
      if (code !== undefined) return withName(withName(code, name), named('text'));
      if (name !== undefined) return name;
    }
  if (node.name === 'supply') return undefined;
  return concept(childOf(node, 'code'), scope) ?? named('text');
}

/** The drug as `medication[x]`: a Medication when the document says more of it than what it is. */
function medicationOf(node: CdaElement, scope: Scope): Json {
  const code = drug(node, scope);
  const { form, ...more } = mapped('Medication', node, scope) ?? {};
  if (code === undefined || Object.keys(more).length === 0)
    return { medicationCodeableConcept: code ?? ABSENT };
  const display = code.text ?? (code.coding as Json[] | undefined)?.[0]?.code;
  return {
    contained: [{ resourceType: 'Medication', id: 'medication', code, form, ...more }],
    medicationReference: { reference: '#medication', display },
  };
}

/**
 * The status of a drug. "Completed" may mean only that the entry was written (C-CDA on FHIR, "Medication Status"): taking has ended if
 * the end is stated and not after the document. With a later end it goes on; without one it is unknown whether it does.
 */
export function medicationStatus(node: CdaElement, scope: Scope): string {
  const status = MAPS.MedicationStatus[statusOf(node) ?? ''] ?? 'unknown';
  if (status !== 'completed') return status;
  const { at, high } = statedTime(childOf(node, 'effectiveTime'), scope.offset);
  const end = (high ?? at)?.value.slice(0, 10);
  if (end === undefined) return 'unknown';
  // Compared as far as both are stated.
  const day = scope.day?.slice(0, end.length);
  return day !== undefined && end > day ? 'active' : status;
}

/** What was requested in a plan is only planned; in a list of medications an intention is a prescription. */
export const intentOf = (node: CdaElement, { section }: Scope): string =>
  MAPS.RequestIntent[attribute(node, 'moodCode') ?? ''] ??
  (section === 'medications' || section === 'immunizations' ? 'order' : 'plan');

/** What a document says of a drug: given by staff, taken (an event), or ordered and intended. */
export function medication(node: CdaElement, scope: Scope): Json {
  const isGiven = scope.section === 'administered medications' && attribute(node, 'negationInd') !== 'true';
  const name: TemplateName = isPlanned(node)
    ? 'MedicationRequest'
    : isGiven
      ? 'MedicationAdministration'
      : 'MedicationStatement';
  const made = resourceOf(name, node, scope) ?? {};
  const isDated = made.effectiveDateTime !== undefined || made.effectivePeriod !== undefined;
  const undated = isGiven && !isDated && name === 'MedicationAdministration';
  return {
    ...made,
    ...medicationOf(node, scope),
    _effectiveDateTime: undated ? ABSENT : made._effectiveDateTime,
  };
}

/** What was dispensed of a drug, and, if the drug was stated as taken, what was ordered. */
export function supplies(node: CdaElement, scope: Scope): Json[] {
  const ofDrug = medicationOf(node, scope);
  return select(node, 'entryRelationship/supply').flatMap((each) =>
    isPlanned(each) && isPlanned(node)
      ? []
      : [{ ...supplyResource(each, scope), ...(ownDrug(each, scope) ?? ofDrug) }],
  );
}

const supplyResource = (node: CdaElement, scope: Scope): Json =>
  resourceOf(isPlanned(node) ? 'SupplyOrder' : 'MedicationDispense', node, scope) ?? {};

function ownDrug(supply: CdaElement, scope: Scope): Json | undefined {
  const medicationCodeableConcept = drug(supply, scope);
  return medicationCodeableConcept && { medicationCodeableConcept };
}

/** A supply of its own: of a drug; undefined for anything else. */
export function supply(node: CdaElement, scope: Scope): Json | undefined {
  const own = ownDrug(node, scope);
  return own && { ...supplyResource(node, scope), ...own };
}
