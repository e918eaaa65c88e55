// Prints what a patient's summary has, and what it does not know
// (docs/patient-summary.md), without packages:
//
// BASE=<gateway>/fhir/R4 KEY=mdx_… node
// examples/patient-summary/print.mjs <id of a patient>
const { BASE, KEY } = process.env;
const [patientId] = process.argv.slice(2);
if (BASE === undefined || KEY === undefined || patientId === undefined) {
  console.error(
    'Usage: BASE=http://…/fhir/R4 KEY=mdx_… node examples/patient-summary/print.mjs <id of a patient>',
  );
  process.exit(2);
}
const response = await fetch(`${BASE}/Patient/${patientId}/$summary`, {
  headers: { 'x-api-key': KEY },
});
const document = await response.json();
if (!response.ok) {
  console.error(
    document.issue.map(({ diagnostics }) => diagnostics).join('\n'),
  );
  process.exit(1);
}

const composition = document.entry[0].resource;
console.log(`${composition.title}, ${composition.date}`);
for (const { title, entry = [], emptyReason } of composition.section) {
  // A section says why it is empty: "none known" is another answer than "nobody
  // was asked".
  const [reason] = emptyReason?.coding ?? [];
  console.log(
    `${title}: ${reason === undefined ? entry.length : `${reason.code} (${emptyReason.text ?? ''})`}`,
  );
  for (const { reference } of entry.slice(0, 3))
    console.log(`    ${nameOf(reference)}`);
}
// Whatever reads a summary by a program looks at these first: is something
// missing, is something withheld?
for (const { code, display } of [
  ...(document.meta.tag ?? []),
  ...(document.meta.security ?? []),
])
  console.log(`${code}: ${display ?? ''}`);

/** What an entry is about, in the words of its source. */
function nameOf(reference) {
  const { resource } =
    document.entry.find(({ fullUrl }) => fullUrl.endsWith(`/${reference}`)) ??
    {};
  const concept =
    resource?.code ??
    resource?.medicationCodeableConcept ??
    resource?.vaccineCode;
  return concept?.text ?? concept?.coding?.[0]?.display ?? reference;
}
