import { type Json, objectsOf } from '../json.ts';
import atMostOnce from './at-most-once.json' with { type: 'json' };
import { has, hasCode, type Requirement } from './profile.ts';

/**
 * How often the profiles of both versions allow an element at most: `element`, `list.element` for each item of a list, or
 * `element=system|code` for the items that have this code. An element that they require in each item of a list has `1..`.
 */
const AT_MOST_ONCE: Readonly<Record<string, readonly string[]>> = atMostOnce;

const isOnce =
  (rule: string) =>
  (resource: Json): boolean => {
    const [path = '', code] = rule.split('=');
    const [list = '', member] = path.split('.');
    const [system = '', wanted = ''] = code?.split('|') ?? [];
    const items = objectsOf(resource[list]);
    if (code === undefined && member !== undefined)
      return items.every((item) => !Array.isArray(item[member]) || item[member].length <= 1);
    const counted =
      code === undefined
        ? items
        : items.filter((item) => hasCode(member === undefined ? item : item[member], system, [wanted]));
    return counted.length <= 1;
  };

const rules = (name: string): Requirement[] =>
  (AT_MOST_ONCE[name] ?? []).map((rule) => ({ element: rule.split('=')[0] ?? '', holds: isOnce(rule) }));

const [UCUM, LOW_AND_HIGH] = ['http://unitsofmeasure.org', ['low', 'high']];

/** What profiles demand besides the presence of elements, by profile. */
export const BOUNDS: Readonly<Record<string, readonly Requirement[]>> = {
  ...Object.fromEntries(Object.keys(AT_MOST_ONCE).map((name) => [name, rules(name)])),
  'us-core-implantable-device': [
    ...rules('us-core-implantable-device'),
    {
      element: 'udiCarrier.deviceIdentifier',
      holds: ({ udiCarrier }) => objectsOf(udiCarrier).every((each) => has(each, 'deviceIdentifier')),
    },
  ],
  'us-core-observation-lab': [
    ...rules('us-core-observation-lab'),
    {
      // us-core-22
      element: 'referenceRange.system',
      version: '8.0.0',
      isOfVersion: true,
      holds: ({ referenceRange }) =>
        objectsOf(referenceRange).every((range) =>
          LOW_AND_HIGH.every((end) =>
            objectsOf(range[end]).every(({ system }) => system === undefined || system === UCUM),
          ),
        ),
    },
  ],
};
