import { createHmac } from 'node:crypto';
import { isJson, type Json, objectsOf } from '#record-summary/fhir';
import { lookupTable } from '../../../../lib/lookup-table.ts';
import {
  KEPT_CODINGS,
  KEPT_ELEMENTS,
  KEPT_SHAPES,
  type KeptAs,
  type KeptShape,
  RESTRICTED_ZIP3,
} from './safe-harbor.ts';

const TYPES: Readonly<Record<string, KeptShape>> = lookupTable(KEPT_ELEMENTS);
const AGE_MAX = 89;
/** Larger numbers may be phone numbers or identifiers. */
const NUMBER_MAX = 10_000_000;
const yearIn = (date: unknown): number =>
  Number(/^\d{4}(?!\d)/.exec(String(date))?.[0]);

const isShapeName = (shape: KeptShape): shape is keyof typeof KEPT_SHAPES =>
  typeof shape === 'string' && Object.hasOwn(KEPT_SHAPES, shape);

/**
 * Makes the de-identified form of a resource by the Safe Harbor method, 45 CFR
 * 164.514(b)(2). `safe-harbor.ts` lists what stays of each type; everything
 * else goes: names, addresses, contacts, identifiers, narratives, notes,
 * extensions, contained resources and all free text. Ids become hashes, the
 * same in all runs with one key.
 *
 * @param year that ages are counted to
 */
export function createDeidentifier({
  key,
  year,
}: {
  key: Uint8Array;
  year: number;
}): (of: Json) => Json {
  const id = (of: string) =>
    createHmac('sha256', key).update(of).digest('hex').slice(0, 32);

  const kinds: Readonly<
    Record<KeptAs, (value: unknown, element: Json) => unknown>
  > = {
    // Years that show an age over 89 go, whatever happened in them.
    year: (value) =>
      year - yearIn(value) <= AGE_MAX ? String(yearIn(value)) : undefined,
    boolean: (value) => (typeof value === 'boolean' ? value : undefined),
    number: (value) =>
      Math.abs(Number(value?.valueOf() ?? Number.NaN)) < NUMBER_MAX
        ? value
        : undefined,
    code: (value) =>
      /^[A-Za-z][A-Za-z-]{0,39}$/.test(String(value)) ? value : undefined,
    coding: (_, { system, code }) =>
      KEPT_CODINGS.some(
        (known) =>
          known.system.test(String(system)) && known.code.test(String(code)),
      )
        ? { system, code }
        : undefined,
    reference(_, { reference }) {
      const [, type, target] =
        /^([A-Z][A-Za-z]+)\/([\w.-]{1,64})$/.exec(String(reference)) ?? [];
      return target === undefined
        ? undefined
        : { reference: `${type}/${id(target)}` };
    },
    quantity(_, { value: given, system, code }) {
      const value = keep('number', given);
      const isUcum =
        system === 'http://unitsofmeasure.org' &&
        /^[A-Za-z0-9%/.*^[\]'"-]{1,30}$/.test(String(code));
      // An age.
      if (value === undefined || (code === 'a' && Number(value) > AGE_MAX))
        return undefined;
      return { value, ...(isUcum && { system, code, unit: code }) };
    },
    place(_, { country = 'US', state, postalCode }) {
      const zip3 = /^\d{3}(?=\d{2}(?:-?\d{4})?$)/.exec(String(postalCode))?.[0];
      if (!/^(?:USA?|United States(?: of America)?)$/i.test(String(country)))
        return undefined;
      return {
        ...(/^[A-Z]{2}$/.test(String(state)) && { state }),
        ...(zip3 && {
          postalCode: RESTRICTED_ZIP3.includes(zip3) ? '000' : zip3,
        }),
      };
    },
  };

  function keep(shape: KeptShape, value: unknown): unknown {
    if (value === undefined || value === null) return undefined;
    if (Array.isArray(value))
      return value.flatMap((each) => keep(shape, each) ?? []);
    if (isShapeName(shape)) return keep(KEPT_SHAPES[shape], value);
    if (typeof shape === 'string')
      return kinds[shape](value, isJson(value) ? value : {});
    const [element = {}] = objectsOf(value);
    const kept = Object.entries(shape).map(([name, inner]) => [
      name,
      keep(inner, element[name]),
    ]);
    return Object.fromEntries(
      kept.filter(([, member]) => member !== undefined),
    );
  }

  return (of) => {
    const { resourceType, id: own, birthDate, deceasedDateTime } = of;
    const lastYear =
      deceasedDateTime === undefined ? year : yearIn(deceasedDateTime);
    const isOld =
      resourceType === 'Patient' && lastYear - yearIn(birthDate) > AGE_MAX;
    return {
      ...(keep(TYPES[String(resourceType)] ?? {}, of) as Json),
      resourceType,
      id: id(String(own)),
      ...(isOld && {
        extension: [
          { url: 'urn:medical-exchange:age-group', valueCode: '90+' },
        ],
      }),
    };
  };
}
