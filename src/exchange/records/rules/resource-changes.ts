/** What is compared of a delivery before and after a merge. */
export interface MergedDelivery {
  source: string;
  resourceType: string;
  sourceId: string;
  sha256: string;
  resourceId: string | null;
  leads: boolean;
  superseded: boolean;
}

export interface ResourceChange {
  resourceType: string;
  resourceId: string;
}

export interface ResourceChanges {
  /** Resources that have other deliveries than before, or changed ones. */
  changed: ResourceChange[];
  /** Resources that no longer exist. */
  gone: ResourceChange[];
}

/** The consolidated resources that a merge created, changed or removed. Both lists contain all deliveries of their resources. */
export function resourceChanges(
  before: readonly MergedDelivery[],
  after: readonly MergedDelivery[],
): ResourceChanges {
  const [known, wanted] = [contentsOf(before), contentsOf(after)];
  return {
    changed: [...wanted.values()].filter(
      ({ resourceId, content }) => known.get(resourceId)?.content !== content,
    ),
    gone: [...known.values()].filter(({ resourceId }) => !wanted.has(resourceId)),
  };
}

interface Contents extends ResourceChange {
  content: string;
}

function contentsOf(deliveries: readonly MergedDelivery[]): Map<string, Contents> {
  const lines = new Map<string, { resourceType: string; lines: string[] }>();
  for (const { source, resourceType, sourceId, sha256, resourceId, leads, superseded } of deliveries) {
    if (resourceId === null) continue;
    const own = lines.get(resourceId) ?? { resourceType, lines: [] };
    lines.set(resourceId, own);
    own.lines.push([source, sourceId, sha256, leads, superseded].join(' '));
  }
  return new Map(
    [...lines].map(([resourceId, own]) => [
      resourceId,
      { resourceId, resourceType: own.resourceType, content: own.lines.sort().join('\n') },
    ]),
  );
}
