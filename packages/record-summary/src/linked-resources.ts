import { isFinding, type LinkedResources } from './fhir/distinctions.ts';
import { type Json, objectsOf } from './fhir/json.ts';
import { categoryOf } from './observation.ts';
import type { RecordReader } from './record.ts';
import { idOf } from './section.ts';

/** Types whose resources say what an Observation was measured of. */
const BY_ID = ['BodyStructure', 'Specimen'];
const AROUND = ['DiagnosticReport', 'Observation'];

/**
 * What the resources of a record say of its Observations. Answers of a
 * questionnaire are no findings with results of their own.
 */
export async function linkedResources(
  reader: Pick<RecordReader, 'read' | 'replaced'>,
): Promise<LinkedResources> {
  const byId = new Map<string, Json>();
  const around = new Map<string, Json[]>();
  const findings = new Map<string, Json>();
  const derived: { id: string; from: readonly Json[] }[] = [];
  const put = (id: string | undefined, resource: Json): void => {
    if (id === undefined) return;
    const known = around.get(id);
    if (known === undefined) around.set(id, [resource]);
    else known.push(resource);
  };

  for await (const { id, content } of reader.read(BY_ID))
    byId.set(id, content as unknown as Json);
  for await (const { id, content } of reader.read(AROUND)) {
    const resource = content as unknown as Json;
    const { hasMember, derivedFrom, specimen, result } = resource;
    if (specimen !== undefined)
      for (const each of objectsOf(result)) put(idOf(each), resource);
    if (derivedFrom !== undefined)
      derived.push({ id, from: objectsOf(derivedFrom) });
    if (!isFinding(resource)) {
      for (const each of objectsOf(hasMember)) put(idOf(each), resource);
    } else if (categoryOf(resource) === 'laboratory') {
      findings.set(id, resource);
      for (const each of objectsOf(hasMember)) put(idOf(each), resource);
    }
  }

  for (const { id, from } of derived)
    for (const each of from) {
      const finding = findings.get(idOf(each) ?? '');
      if (finding !== undefined) put(id, finding);
    }
  return { byId, around, replaced: await replacedDocuments(reader) };
}

async function replacedDocuments(
  reader: Pick<RecordReader, 'read' | 'replaced'>,
): Promise<ReadonlySet<string>> {
  const replaced = new Set(reader.replaced);
  for await (const { content } of reader.read(['DocumentReference']))
    for (const { code, target } of objectsOf(
      (content as unknown as Json).relatesTo,
    )) {
      const id = idOf(target);
      if (code === 'replaces' && id !== undefined) replaced.add(id);
    }
  return replaced;
}
