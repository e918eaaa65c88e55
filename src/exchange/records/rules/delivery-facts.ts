import {
  clinicalTime,
  type Days,
  isJson,
  type Json,
  moment,
  objectsOf,
  textOf,
} from '#record-summary/fhir';
import { type Assertions, assertionsIn } from './assertions.ts';
import { derivedUuid } from './ids.ts';
import { jsonLength } from './json-length.ts';
import { statedOn } from './provenance.ts';
import { parseLocalReference, subjectIds } from './references.ts';
import {
  CLINICAL_TYPES,
  MEDICATION_TYPES,
  MINIMUM,
  SUPPORTING_TYPES,
} from './resource-types.ts';
import { ownKey, samenessKeys } from './sameness.ts';
import { searchEntries } from './search.ts';

/** A resource as delivered by one source. */
export interface Delivery {
  source: string;
  resourceType: string;
  /** Its id at the source. */
  sourceId: string;
  /** SHA-256 (hex) of the resource as received. */
  sha256: string;
  /** Whether it was converted from a C-CDA document. */
  isConverted: boolean;
  /** A caller split it from the others: it shares no key with any. */
  isSplit?: boolean;
  content: Json;
}

/** Why a delivery is stored but excluded from the record. */
export type ExclusionReason =
  /** A resource type that records do not contain. */
  | 'type'
  /** Lacks the elements that give a resource of its type any meaning. */
  | 'incomplete'
  /** A clinical resource that names no patient. */
  | 'names-nobody'
  /** Names another patient. */
  | 'names-another'
  /** Nested too deeply to be read. */
  | 'unreadable';

/** What grouping needs to know about a delivery, without its content. */
export interface DeliveryFacts
  extends Pick<Delivery, 'source' | 'resourceType' | 'sourceId' | 'sha256'> {
  exclusion?: ExclusionReason;
  /** Sorted; empty when excluded. */
  keys: string[];
  /**
   * What must not be lost when it is united with others; empty when excluded.
   */
  assertions: Assertions;
  /** Compared as text: the delivery with the highest rank leads its group. */
  rank: string;
  /** Id, at the source, of the Medication whose code is part of the keys. */
  medicationId?: string;
  sortDate: string;
  days?: Days;
  /** What it can be found by (`search.ts`); empty when excluded. */
  search: string[];
}

export interface DeliveryContext {
  /**
   * The person's Patient ids at the delivery's source; undefined when none were
   * recorded.
   */
  patientIds?: ReadonlySet<string>;
  /**
   * Code of the Medication that the delivery refers to, if it was delivered.
   */
  medication?: string;
}

/**
 * Keys, assertions and rank of a delivery, or why it is excluded. Depends on
 * nothing but its arguments.
 */
export function deliveryFacts(
  delivery: Delivery,
  whom: DeliveryContext,
): DeliveryFacts {
  try {
    return readFacts(delivery, whom);
  } catch (error) {
    // A resource too deeply nested for the call stack must not prevent the
    // merge of all others.
    if (!(error instanceof RangeError)) throw error;
    const { source, resourceType, sourceId, sha256 } = delivery;
    return {
      source,
      resourceType,
      sourceId,
      sha256,
      exclusion: 'unreadable',
      keys: [],
      assertions: {},
      rank: '',
      sortDate: '',
      search: [],
    };
  }
}

function readFacts(delivery: Delivery, whom: DeliveryContext): DeliveryFacts {
  const { source, resourceType, sourceId, sha256, content } = delivery;
  const { sortDate, days } = clinicalTime(content);
  const medicationId = medicationIdOf(content);
  const exclusion = exclusionReason(delivery, whom);
  const keys =
    exclusion !== undefined
      ? []
      : resourceType === 'Patient'
        ? ['p:']
        : delivery.isSplit === true
          ? [ownKey(resourceType, { source, sourceId })]
          : samenessKeys(delivery, content, { medication: whom.medication });
  return {
    source,
    resourceType,
    sourceId,
    sha256,
    exclusion,
    keys,
    assertions:
      exclusion !== undefined || resourceType === 'Patient'
        ? {}
        : assertionsIn(content, delivery.isConverted ? undefined : source),
    rank: rankOf(delivery),
    medicationId,
    sortDate,
    days,
    search: exclusion === undefined ? searchEntries(content) : [],
  };
}

function exclusionReason(
  { resourceType: type, sourceId, isConverted, content }: Delivery,
  { patientIds }: DeliveryContext,
): ExclusionReason | undefined {
  const isSupporting = SUPPORTING_TYPES.has(type);
  if (
    content.resourceType !== type ||
    (!isSupporting && !CLINICAL_TYPES.has(type))
  )
    return 'type';
  // The header of a document was compared with the person when it was
  // converted.
  if (type === 'Patient' && isConverted) return undefined;
  if (type === 'Patient')
    return patientIds?.has(sourceId) === false ? 'names-another' : undefined;
  const subjects = subjectIds(content);
  if (patientIds !== undefined && subjects.some((id) => !patientIds.has(id)))
    return 'names-another';
  if (subjects.length === 0 && !isSupporting) return 'names-nobody';
  const minimum = MINIMUM[type];
  if (minimum?.every((element) => isEmpty(content[element])))
    return 'incomplete';
  return undefined;
}

const isEmpty = (value: unknown): boolean =>
  objectsOf(value).every((object) => Object.keys(object).length === 0);

/**
 * The id of the Medication that a prescription, fill or administration refers
 * to; undefined for a contained one.
 */
export function medicationIdOf(content: Json): string | undefined {
  if (
    !MEDICATION_TYPES.has(textOf(content.resourceType) ?? '') ||
    !isJson(content.medicationReference)
  ) {
    return undefined;
  }
  const target = parseLocalReference(
    textOf(content.medicationReference.reference) ?? '',
  );
  return target?.type === 'Medication' ? target.id : undefined;
}

/**
 * Ranks resources written by the source above those converted from documents;
 * then the newer (`meta.lastUpdated`, then `meta.versionId`; the time of the
 * document), then the larger. Hash and identity come last, so that no two
 * deliveries have the same rank.
 */
function rankOf({
  source,
  sourceId,
  isConverted,
  content,
  sha256,
}: Delivery): string {
  const { id: _id, meta: _meta, text: _text, ...told } = content;
  const revision = (
    isConverted ? (moment(statedOn(content)) ?? '') : revisionOf(content)
  ).padEnd(REVISION_LENGTH);
  const length = String(jsonLength(told)).padStart(9, '0');
  const hash = sha256.slice(0, HASH_LENGTH);
  return [isConverted ? 0 : 1, revision, length, hash, source, sourceId].join(
    ' ',
  );
}

const REVISION_LENGTH = 37;
/**
 * Enough to tell versions apart that are equally old and large. Every row of
 * `record_origin` holds a rank.
 */
const HASH_LENGTH = 8;

/**
 * `meta.lastUpdated` and `meta.versionId` as one text that sorts by age; empty
 * when the source gives neither.
 */
export function revisionOf({ meta }: Json): string {
  if (!isJson(meta)) return '';
  const ms = Date.parse(textOf(meta.lastUpdated) ?? '');
  const at = Number.isNaN(ms) ? '' : new Date(ms).toISOString();
  const version = /^\d{1,12}$/.test(textOf(meta.versionId) ?? '')
    ? String(meta.versionId).padStart(12, '0')
    : '';
  return at === '' && version === ''
    ? ''
    : `${at.padEnd(24, ' ')}/${version.padStart(12, '0')}`;
}

/**
 * The id of a consolidated resource, derived from the patient, the type and the
 * first of its keys.
 */
export function consolidatedId(
  patientId: string,
  resourceType: string,
  keys: Iterable<string>,
): string {
  if (resourceType === 'Patient') return patientId;
  const [first] = [...keys].sort();
  return derivedUuid([patientId, resourceType, first]);
}
