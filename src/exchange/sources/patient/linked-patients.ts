import type { Demographics } from '../../patients/rules/demographics.ts';
import { agreesWithPerson } from '../../patients/rules/patient-matching.ts';
import { patientIdOf } from '../answer/subjects.ts';
import type { SourceContext } from '../source-context.ts';
import { type ReadPatient, readPatient } from './patient-shape.ts';

const LINK_DEPTH_MAX = 3;
const PATIENTS_MAX = 10;

/**
 * Ids of the trusted Patients and of those that they link to (`Patient.link`: replaced-by, replaces, refer,
 * seealso), as far as those agree with the person. A linked Patient that is gone is nothing to miss.
 */
export async function linkedPatients(
  context: SourceContext,
  person: Demographics,
  trusted: ReadPatient[],
  signal: AbortSignal,
): Promise<string[]> {
  const ids = new Set(trusted.slice(0, PATIENTS_MAX).map(({ id }) => id));
  const seen = new Set(ids);
  let layer = trusted;
  for (let depth = 0; depth < LINK_DEPTH_MAX && layer.length > 0; depth += 1) {
    const linked: ReadPatient[] = [];
    for (const id of layer.flatMap((patient) => linksOf(context, patient))) {
      if (seen.has(id) || seen.size >= PATIENTS_MAX) continue;
      seen.add(id);
      const patient = await readById(context, id, signal);
      if (patient === undefined || !agreesWithPerson(person, patient)) continue;
      ids.add(patient.id);
      linked.push(patient);
    }
    layer = linked;
  }
  return [...ids];
}

function linksOf({ config }: SourceContext, patient: ReadPatient): string[] {
  return (patient.link ?? []).flatMap(({ other }) => patientIdOf(other.reference ?? '', config) ?? []);
}

async function readById({ config, http }: SourceContext, id: string, signal: AbortSignal) {
  const label = 'a linked Patient';
  const answer = await http.send({
    method: 'GET',
    url: new URL(`Patient/${id}`, config.baseUrl),
    label,
    signal,
  });
  if (answer.status === 404 || answer.status === 410) {
    await answer.discard();
    return undefined;
  }
  if (answer.status !== 200) throw await http.failureOf(answer, label);
  const patient = readPatient((await http.readJson(answer, label)).json);
  // A source that reads another Patient than the one asked for is not followed.
  return patient?.id === id ? patient : undefined;
}
