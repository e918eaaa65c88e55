import { clinicalTime, type Days } from './dates.ts';
import { derivedUuid } from './ids.ts';
import { isJson, type Json, objectsOf, textOf } from './json.ts';
import { localTarget, subjectIds } from './references.ts';
import { CLINICAL_TYPES, MEDICATION_TYPES, MINIMUM, SUPPORTING_TYPES } from './resource-types.ts';
import { samenessKeys } from './sameness.ts';
import { type Told, toldBy } from './told.ts';

/** A resource as one source delivered it. */
export interface Delivery {
  source: string;
  resourceType: string;
  /** The id that the source gave it. */
  sourceId: string;
  /** Hex; of the resource as it came. */
  sha256: string;
  /** Made from a C-CDA document. */
  isConverted: boolean;
  content: Json;
}

/** Why a delivery is kept but is no part of the record. */
export type AsideReason =
  /** Not a type that a record holds. */
  | 'type'
  /** Says nothing: lacks what its type needs at least. */
  | 'incomplete'
  /** Clinical, and names nobody. */
  | 'names-nobody'
  /** Names somebody else. */
  | 'names-another'
  /** Nested too deep to be read. */
  | 'unreadable';

/** All that grouping needs of a delivery; its content can be let go. */
export interface Facts {
  source: string;
  resourceType: string;
  sourceId: string;
  sha256: string;
  aside?: AsideReason;
  /** Sorted; empty when put aside. */
  keys: string[];
  /** What must not get lost when it is united with others; empty when put aside. */
  told: Told;
  /** In text order: the delivery with the highest rank leads its group. */
  rank: string;
  /** Id at the source of the Medication whose code counts for the keys. */
  medicationId?: string;
  sortDate: string;
  days?: Days;
}

export interface Whom {
  /** Ids of the person's Patients at the delivery's source; undefined when they were never recorded. */
  patientIds?: ReadonlySet<string>;
  /** Code of the Medication that the delivery refers to, where that was delivered. */
  medication?: string;
}

/** Keys and rank of a delivery, or why it is put aside. Depends on the delivery alone (and its Medication's code). */
export function factsOf(delivery: Delivery, whom: Whom): Facts {
  try {
    return readFacts(delivery, whom);
  } catch (error) {
    // One resource that no call stack is deep enough for is no reason to merge none.
    if (!(error instanceof RangeError)) throw error;
    const { source, resourceType, sourceId, sha256 } = delivery;
    return {
      source,
      resourceType,
      sourceId,
      sha256,
      aside: 'unreadable',
      keys: [],
      told: {},
      rank: '',
      sortDate: '',
    };
  }
}

function readFacts(delivery: Delivery, whom: Whom): Facts {
  const { source, resourceType, sourceId, sha256, content } = delivery;
  const { sortDate, days } = clinicalTime(content);
  const medicationId = medicationIdOf(content);
  const aside = asideReason(resourceType, sourceId, content, whom);
  const keys =
    aside !== undefined
      ? []
      : resourceType === 'Patient'
        ? ['p:']
        : samenessKeys({ source, sourceId }, content, { medication: whom.medication });
  return {
    source,
    resourceType,
    sourceId,
    sha256,
    aside,
    keys,
    told:
      aside !== undefined || resourceType === 'Patient'
        ? {}
        : toldBy(content, delivery.isConverted ? undefined : source),
    rank: rankOf(delivery),
    medicationId,
    sortDate,
    days,
  };
}

function asideReason(
  type: string,
  sourceId: string,
  content: Json,
  { patientIds }: Whom,
): AsideReason | undefined {
  const isSupporting = SUPPORTING_TYPES.has(type);
  if (content.resourceType !== type || (!isSupporting && !CLINICAL_TYPES.has(type))) return 'type';
  if (type === 'Patient') return patientIds?.has(sourceId) === false ? 'names-another' : undefined;
  const subjects = subjectIds(content);
  if (patientIds !== undefined && subjects.some((id) => !patientIds.has(id))) return 'names-another';
  if (subjects.length === 0 && !isSupporting) return 'names-nobody';
  const minimum = MINIMUM[type];
  if (minimum?.every((element) => isEmpty(content[element]))) return 'incomplete';
  return undefined;
}

const isEmpty = (value: unknown): boolean =>
  objectsOf(value).every((object) => Object.keys(object).length === 0);

/** The Medication resource that a prescription, fill or administration refers to; one inside it needs no look-up. */
function medicationIdOf(content: Json): string | undefined {
  if (!MEDICATION_TYPES.has(textOf(content.resourceType) ?? '') || !isJson(content.medicationReference)) {
    return undefined;
  }
  const target = localTarget(textOf(content.medicationReference.reference) ?? '');
  return target?.type === 'Medication' ? target.id : undefined;
}

/**
 * What its source wrote itself leads before what was made of a document; then the newer (`meta.lastUpdated`, then
 * `meta.versionId`), the fuller, and last the greater hash and name, so that there is always exactly one first.
 */
function rankOf({ source, sourceId, isConverted, content, sha256 }: Delivery): string {
  const { id: _id, meta: _meta, text: _text, ...rest } = content;
  const size = JSON.stringify(rest).length;
  const revision = revisionOf(content).padEnd(REVISION_LENGTH);
  return [isConverted ? 0 : 1, revision, String(size).padStart(9, '0'), sha256, source, sourceId].join(' ');
}

const REVISION_LENGTH = 37;

/** When and as which version its source last wrote a resource, in text order; empty when it does not say. */
export function revisionOf({ meta }: Json): string {
  if (!isJson(meta)) return '';
  const ms = Date.parse(textOf(meta.lastUpdated) ?? '');
  const at = Number.isNaN(ms) ? '' : new Date(ms).toISOString();
  const version = /^\d{1,12}$/.test(textOf(meta.versionId) ?? '')
    ? String(meta.versionId).padStart(12, '0')
    : '';
  return at === '' && version === '' ? '' : `${at.padEnd(24, ' ')}/${version.padStart(12, '0')}`;
}

/** The id of a thing in one person's record, of the first of its keys. */
export function consolidatedId(patientId: string, resourceType: string, keys: Iterable<string>): string {
  if (resourceType === 'Patient') return patientId;
  const [first] = [...keys].sort();
  return derivedUuid([patientId, resourceType, first]);
}
