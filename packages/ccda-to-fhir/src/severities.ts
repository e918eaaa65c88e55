import { path } from './cda-path.ts';
import { withoutSemanticTag } from './concept-words.ts';
import { concept } from './datatypes.ts';
import {
  attribute,
  type CdaElement,
  childOf,
  elementsAt,
  line,
  templatesOf,
} from './element.ts';
import type { FhirJson } from './json.ts';
import { ABSENT, type DocumentScope } from './table.ts';
import { MAPS } from './value-maps.ts';

/** FHIR's severities of a reaction, the least first. */
const SEVERITIES = ['mild', 'moderate', 'severe'] as const;
type Severity = (typeof SEVERITIES)[number];

/** What words mean; of "moderate to severe" the greater one. */
const WORDS: readonly (readonly [RegExp, Severity])[] = [
  [/\b(?:severe|fatal|life[- ]threatening)\b/i, 'severe'],
  [/\bmoderate\b/i, 'moderate'],
  [/\bmild\b/i, 'mild'],
];

/** Codes that say more than "severe", which is all that FHIR has for them. */
const BEYOND: ReadonlyMap<string, string> = new Map([
  ['399166001', 'Fatal'],
  ['442452003', 'Life threatening'],
]);
const BEYOND_IN_WORDS = /fatal|life[- ]threatening/i;

const UNKNOWN = /^(?:none|n\/?a|not|unknown|unspecified)\b/i;

/** What a severity observation says: FHIR's severity, and words beyond it. */
interface StatedSeverity {
  severity?: Severity;
  beyond?: string;
}

const SEVERITY_OBSERVATIONS = [
  path('entryRelationship/observation[code=SEV]'),
  path('entryRelationship/observation[template=4.8]'),
];

/**
 * How severe a reaction is: the greatest severity that its severity
 * observations state in codes or words, and as `description` what FHIR's three
 * codes do not say. Without `severity` when none is stated.
 *
 * @param node a reaction, an allergy or its concern
 */
export function severityOf(
  node: CdaElement | undefined,
  scope: DocumentScope,
): { severity?: Severity; description?: string } {
  const stated = SEVERITY_OBSERVATIONS.flatMap((observations) =>
    elementsAt(node, observations),
  )
    .filter((each) => attribute(each, 'negationInd') !== 'true')
    .map((each) => statedIn(each, scope));
  const severity = SEVERITIES.toReversed().find((each) =>
    stated.some((one) => one.severity === each),
  );
  const beyond = stated.map((one) => one.beyond).find(Boolean);
  return {
    severity,
    description: beyond && `Severity: ${beyond}`,
  };
}

/** Whether an observation is that of a severity. */
export const isSeverity = (observed: CdaElement): boolean =>
  attribute(childOf(observed, 'code'), 'code') === 'SEV' ||
  templatesOf(observed).includes('4.8');

function statedIn(observed: CdaElement, scope: DocumentScope): StatedSeverity {
  const value = childOf(observed, 'value');
  const code = attribute(value, 'code') ?? '';
  const own = concept(value, scope)?.text ?? line(value, scope);
  const words = typeof own === 'string' ? withoutSemanticTag(own) : undefined;
  const coded = MAPS.Severity[code];
  if (coded !== undefined) return { severity: coded, beyond: BEYOND.get(code) };

  const severity =
    inWords(words) ?? inWords(line(childOf(observed, 'text'), scope));
  const isSaid = severity !== undefined && !BEYOND_IN_WORDS.test(words ?? '');
  const isKnown = words !== undefined && !UNKNOWN.test(words);
  return { severity, beyond: isSaid || !isKnown ? undefined : words };
}

const inWords = (words: string | undefined): Severity | undefined =>
  WORDS.find(([pattern]) => pattern.test(words ?? ''))?.[1];

/**
 * The reactions of an allergy. A severity of the allergy is one of each
 * reaction that states none (the guide); without a reaction it is that of one
 * whose manifestation is not stated.
 *
 * @param stated the severity of the allergy
 */
export function withSeverity(
  reactions: readonly FhirJson[],
  stated: ReturnType<typeof severityOf>,
): FhirJson[] {
  const isStated = hasSeverity(stated);
  const all = reactions.length === 0 && isStated ? [{}] : reactions;
  return all
    .map((each: FhirJson) =>
      isStated && !hasSeverity(each) ? { ...each, ...stated } : each,
    )
    .filter((each) => Object.keys(each).length > 0)
    .map((each) => ({
      ...each,
      manifestation: each.manifestation ?? [ABSENT],
    }));
}

const hasSeverity = ({ severity, description }: FhirJson): boolean =>
  severity !== undefined || description !== undefined;
