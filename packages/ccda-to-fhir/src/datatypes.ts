import {
  CODE_SYSTEM_URIS,
  CODE_SYSTEMS_BY_NAME,
  IDENTIFIER_SYSTEM_URIS,
} from './code-systems.ts';
import { conceptName, sideIn } from './concept-words.ts';
import { cdaDecimal } from './decimals.ts';
import {
  attribute,
  type CdaElement,
  childOf,
  childrenOf,
  line,
  markRead,
  ownText as plain,
} from './element.ts';
import type { FhirJson } from './json.ts';
import { shareName, shownName } from './shown-names.ts';
import type { DocumentScope } from './table.ts';
import { isUcum } from './ucum.ts';
import { MAPS } from './value-maps.ts';

const URI = 'urn:ietf:rfc:3986';
const OID = /^[0-2](?:\.(?:0|[1-9]\d*))+$/;
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * The URI of a code system or identifier namespace that a document gives as
 * OID, UUID or URI; undefined for anything else.
 */
export function uriOf(
  root: string | undefined,
  known = CODE_SYSTEM_URIS,
): string | undefined {
  if (root === undefined) return undefined;
  if (OID.test(root)) return known[root] ?? `urn:oid:${root}`;
  if (UUID.test(root)) return `urn:uuid:${root.toLowerCase()}`;
  return /^(?:https?:\/\/|urn:)\S+$/.test(root) ? root : undefined;
}

/** C-CDA on FHIR, "CDA id ↔ FHIR identifier". */
export function identifier(id: CdaElement): FhirJson | undefined {
  const root = attribute(id, 'root');
  const extension = attribute(id, 'extension');
  const system = uriOf(root, IDENTIFIER_SYSTEM_URIS);
  if (extension !== undefined) return { system, value: extension };
  // A namespace alone identifies nothing.
  if (system === undefined || IDENTIFIER_SYSTEM_URIS[root ?? ''] !== undefined)
    return undefined;
  return { system: URI, value: system };
}

/** The system of a code, by its OID, or by its name where it has none. */
function codeSystemOf(element: CdaElement): string | undefined {
  const root = attribute(element, 'codeSystem');
  if (root !== undefined) return uriOf(root);
  const name = attribute(element, 'codeSystemName');
  return CODE_SYSTEMS_BY_NAME[
    name?.toLowerCase().replaceAll(/[^a-z\d]/g, '') ?? ''
  ];
}

/** One coding of a CD: the element itself or one of its translations. */
export function coding(element: CdaElement): FhirJson | undefined {
  const code = attribute(element, 'code');
  if (code === undefined || attribute(element, 'nullFlavor') !== undefined)
    return undefined;
  return {
    system: codeSystemOf(element),
    code: code.replaceAll(/\s+/g, ' '),
    display: attribute(element, 'displayName'),
  };
}

/**
 * C-CDA on FHIR, "CDA Coding → FHIR CodeableConcept": all codes, and the words
 * for them (`shownName`). Undefined without a code and words.
 */
export const concept = (
  element: CdaElement | undefined,
  scope: DocumentScope,
): FhirJson | undefined => conceptBeside(undefined, element, scope);

/**
 * The same for a thing that the document also names beside its code.
 *
 * @param name undefined when it has none
 */
export function conceptBeside(
  name: string | undefined,
  element: CdaElement | undefined,
  scope: DocumentScope,
): FhirJson | undefined {
  if (element === undefined) return undefined;
  const all = [element, ...childrenOf(element, 'translation')];
  const codings = all.map(coding).filter((each) => each !== undefined);
  const written = all
    .map((each) => line(childOf(each, 'originalText'), scope))
    .find(Boolean);
  const names = all
    .map((each) => attribute(each, 'displayName'))
    .filter((each) => each !== undefined);
  // A name that shares no word with those of the codes, as that of a brand.
  const isOther =
    name !== undefined &&
    names.length > 0 &&
    !names.some((each) => shareName(each, name));
  const text = shownName(
    isOther ? names : names.concat(name ?? []),
    isOther && written === undefined ? name : written,
    codings.map(({ code }) => String(code)),
  );
  if (codings.length === 0 && text === undefined) return undefined;
  markRead(element);
  const plain = {
    coding: codings.length === 0 ? undefined : unique(codings),
    text,
  };
  const qualifiers = all.flatMap((each) => childrenOf(each, 'qualifier'));
  return qualifiers.length === 0 ? plain : qualified(plain, qualifiers, scope);
}

const SNOMED = 'http://snomed.info/sct';

/**
 * A concept with what its qualifiers say, above all the side: in its words, and
 * beside its own code as an expression of SNOMED CT (compositional grammar),
 * where code, attribute and value are of SNOMED CT.
 */
function qualified(
  { coding: codings, text }: { coding?: FhirJson[]; text?: string },
  qualifiers: readonly CdaElement[],
  scope: DocumentScope,
): FhirJson {
  const read = qualifiers.map((qualifier) => ({
    name: snomedCode(childOf(qualifier, 'name')),
    value: snomedCode(childOf(qualifier, 'value')),
    words: conceptBeside(undefined, childOf(qualifier, 'value'), scope),
    isInverted: attribute(qualifier, 'inverted') === 'true',
  }));
  const named = text ?? String(codings?.[0]?.display ?? '');
  const words = read
    .map((each) => sideIn(each.words) ?? conceptName(each.words) ?? '')
    .filter((word) => !named.toLowerCase().includes(word.toLowerCase()));
  const refined = read.flatMap(({ name, value, isInverted }) =>
    name === undefined || value === undefined || isInverted
      ? []
      : [`${name}=${value}`],
  );
  const focus = codings?.find(({ system }) => system === SNOMED);
  const whole = [named, ...new Set(words)].filter(Boolean).join(', ');
  const expression = focus && {
    system: SNOMED,
    code: `${String(focus.code)}:${[...new Set(refined)].sort().join()}`,
    display: whole,
  };
  return {
    coding:
      expression === undefined || refined.length === 0
        ? codings
        : [...(codings ?? []), expression],
    text: whole,
  };
}

function snomedCode(element: CdaElement | undefined): string | undefined {
  const found = element && coding(element);
  return found?.system === SNOMED ? String(found.code) : undefined;
}

const unique = (codings: readonly FhirJson[]): FhirJson[] =>
  [
    ...new Map(
      codings
        .map(
          (each) =>
            [`${String(each.system)}|${String(each.code)}`, each] as const,
        )
        .reverse(),
    ).values(),
  ].reverse();

const NUMBER = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i;

export const numberOf = (
  element: CdaElement | undefined,
): number | undefined => {
  const value = attribute(element, 'value');
  return value !== undefined && NUMBER.test(value) ? Number(value) : undefined;
};

/**
 * The value of a quantity as it is written; undefined for what is no number.
 */
function writtenIn(element: CdaElement | undefined): FhirJson | undefined {
  const value = numberOf(element);
  const text = attribute(element, 'value') ?? '';
  if (value === undefined) return undefined;
  return /e/i.test(text) ? { value } : cdaDecimal('value', text);
}

/**
 * C-CDA on FHIR, "CDA ↔ FHIR Quantity". A quantity without a value may have it
 * in a translation, with a unit that is not UCUM. Only valid UCUM is called so.
 */
export function quantity(
  element: CdaElement | undefined,
  scope?: DocumentScope,
): FhirJson | undefined {
  const value = writtenIn(element);
  if (element === undefined) return undefined;
  if (value === undefined) return translated(element, scope);
  return { ...value, ...unitMembers(attribute(element, 'unit')) };
}

export const unitMembers = (unit: string | undefined): FhirJson =>
  unit === undefined
    ? {}
    : isUcum(unit)
      ? { unit, system: 'http://unitsofmeasure.org', code: unit }
      : { unit };

function translated(
  element: CdaElement,
  scope: DocumentScope | undefined,
): FhirJson | undefined {
  for (const translation of childrenOf(element, 'translation')) {
    const value = writtenIn(translation);
    if (value === undefined) continue;
    const own = coding(translation);
    const words = scope && line(childOf(translation, 'originalText'), scope);
    const unit = words ?? own?.display ?? own?.code;
    return {
      ...value,
      unit,
      ...(own?.system === undefined
        ? {}
        : { system: own.system, code: own.code }),
    };
  }
  return undefined;
}

const text = (of: CdaElement, name: string): string[] =>
  childrenOf(of, name).flatMap((part) => plain(part) ?? []);

/** Uses are a list in CDA; the first with an equivalent counts. */
const useOf = (
  of: CdaElement,
  uses: Readonly<Record<string, string>>,
): string | undefined =>
  attribute(of, 'use')
    ?.split(/\s+/)
    .map((use) => uses[use])
    .find(Boolean);

export function humanName(name: CdaElement): FhirJson | undefined {
  const parts = {
    family: text(name, 'family').join(' ') || undefined,
    given: text(name, 'given'),
    prefix: text(name, 'prefix'),
    suffix: text(name, 'suffix'),
  };
  const whole = plain(name);
  const isEmpty =
    parts.family === undefined &&
    parts.given.length === 0 &&
    whole === undefined;
  return isEmpty
    ? undefined
    : { use: useOf(name, MAPS.NameUse), ...parts, text: whole };
}

/** A name in one line. */
export function nameInOneLine(
  name: CdaElement | undefined,
): string | undefined {
  if (name === undefined) return undefined;
  const parts = ['prefix', 'given', 'family', 'suffix'].flatMap((part) =>
    text(name, part),
  );
  return parts.join(' ') || plain(name);
}

export function address(addr: CdaElement): FhirJson | undefined {
  const part = (name: string) => text(addr, name)[0];
  const parts = {
    line: [
      ...text(addr, 'streetAddressLine'),
      ...text(addr, 'additionalLocator'),
    ],
    city: part('city'),
    district: part('county'),
    state: part('state'),
    postalCode: part('postalCode'),
    country: part('country'),
    text: plain(addr),
  };
  const isEmpty =
    parts.line.length === 0 &&
    Object.values(parts).filter(Boolean).length === 1;
  return isEmpty ? undefined : { use: useOf(addr, MAPS.AddressUse), ...parts };
}

export function telecom(point: CdaElement): FhirJson | undefined {
  const [, scheme, rest] =
    /^(?:([a-z-]+):)?(.*)$/is.exec(attribute(point, 'value') ?? '') ?? [];
  const value = scheme?.startsWith('http')
    ? attribute(point, 'value')
    : rest?.trim();
  if (!value) return undefined;
  const isPager = attribute(point, 'use')?.split(/\s+/).includes('PG');
  const system = isPager
    ? 'pager'
    : (MAPS.TelecomType[scheme?.toLowerCase() ?? 'tel'] ?? 'other');
  return { system, value, use: useOf(point, MAPS.TelecomUse) };
}

/** An age; FHIR accepts units of time only. */
export function age(value: CdaElement): FhirJson | undefined {
  const found = quantity(value);
  return ['a', 'mo', 'wk', 'd', 'h', 'min'].includes(String(found?.code))
    ? found
    : undefined;
}
