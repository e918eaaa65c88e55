import type { RecordSource } from '../../../../contract/primitives.ts';
import type { RecordConformance } from '../../../../contract/record-conformance.ts';
import type { Json } from '../json.ts';
import words from './defect-words.json' with { type: 'json' };
import { type Defect, examined } from './us-core.ts';

interface Counted extends Defect {
  resourceType: string;
  resources: number;
  sources: Set<RecordSource>;
}

/** Counts how the resources of a record conform to US Core. */
export class ConformanceCount {
  #resources = 0;
  #claiming = 0;
  #defective = 0;
  readonly #profiles = new Map<string, number>();
  readonly #defects = new Map<string, Counted>();
  readonly #without = new Map<string, number>();

  /** @param source the source of the leading delivery; undefined for a Patient that no source delivered */
  add(resource: Json, source: RecordSource | undefined): void {
    const resourceType = String(resource.resourceType);
    const { claims, defects } = examined(resource);
    this.#resources += 1;
    if (claims.length > 0) this.#claiming += 1;
    if (defects.length > 0) this.#defective += 1;
    for (const claim of claims) increment(this.#profiles, claim);
    if (claims.length === 0 && defects.length === 0) increment(this.#without, resourceType);
    for (const defect of defects) {
      const name = JSON.stringify([resourceType, defect.profile, defect.element, defect.isStated]);
      const counted = this.#defects.get(name) ?? {
        ...defect,
        resourceType,
        resources: 0,
        sources: new Set(),
      };
      counted.resources += 1;
      if (source !== undefined) counted.sources.add(source);
      this.#defects.set(name, counted);
    }
  }

  /** The report in one sentence, for readers of a summary. */
  get sentence(): string {
    const all = `${this.#claiming} of ${this.#resources} entries meet the US standard for health records (US Core)`;
    if (this.#defective === 0) return `${all}.`;
    const many = this.#defective === 1 ? 'one entry' : `${this.#defective} entries`;
    return `${all}; in ${many} a source left something out, or wrote it in another form.`;
  }

  report(patientId: string): RecordConformance {
    return {
      patientId,
      resources: this.#resources,
      claiming: this.#claiming,
      summary: this.sentence,
      profiles: sorted(this.#profiles).map(([profile, resources]) => ({ profile, resources })),
      defects: [...this.#defects.values()]
        .map(({ sources, isStated, ...defect }) => ({
          ...defect,
          handling: isStated ? ('stated-as-unknown' as const) : ('profile-not-claimed' as const),
          sources: [...sources].sort(),
          text: inWords({ ...defect, isStated }),
        }))
        .sort((left, right) => right.resources - left.resources || (left.text < right.text ? -1 : 1)),
      withoutProfile: sorted(this.#without).map(([resourceType, resources]) => ({ resourceType, resources })),
    };
  }
}

const increment = (counts: Map<string, number>, name: string): void => {
  counts.set(name, (counts.get(name) ?? 0) + 1);
};

const sorted = (counts: ReadonlyMap<string, number>): [string, number][] =>
  [...counts].sort(([left], [right]) => (left < right ? -1 : 1));

/** What a source left out or wrote otherwise, by the element of a requirement, as the end of "… without". */
const ELEMENT_WORDS: Readonly<Record<string, string>> = words.elements;
/** Types in plain words, one and several: "3 prescriptions". */
const TYPE_WORDS: Readonly<Record<string, readonly string[]>> = words.types;

/** "101 prescriptions without an ordering provider; the record says that it is unknown." */
function inWords({ resourceType, profile, element, resources, isStated }: Omit<Counted, 'sources'>): string {
  const [one, many] = TYPE_WORDS[resourceType] ?? [resourceType, resourceType];
  const what = `${resources} ${resources === 1 ? one : many} without ${ELEMENT_WORDS[element] ?? element}`;
  return isStated
    ? `${what}; the record says that it is unknown.`
    : `${what}; ${resources === 1 ? 'it does' : 'they do'} not claim ${profile}.`;
}
