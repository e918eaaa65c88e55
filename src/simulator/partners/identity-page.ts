import { escapeHtml } from '../../lib/escape-html.ts';
import { minuteOf } from '../../lib/utc-time.ts';

/** What the page of a verification says. */
interface Asked {
  kind: 'session' | 'challenge';
  person?: { firstNames: readonly string[]; lastNames: readonly string[]; dob: string };
  /** Where the browser goes afterwards. */
  returnUrl: string;
  expiresAt: string;
}

/** The page of the stand-in identity partner: who is asked, for what, by whom, and what each button leads to. */
export function identityPage({ kind, person, returnUrl, expiresAt }: Asked): string {
  const who =
    person === undefined
      ? 'You are'
      : `${[...person.firstNames, ...person.lastNames].join(' ')}, born ${person.dob}, is`;
  const host = new URL(returnUrl).host;
  const [task, button] =
    kind === 'session'
      ? ['to confirm who they are', 'Confirm that I am this patient']
      : ['to sign in with a second factor', 'Sign in with two factors'];
  return `<p>${escapeHtml(who)} asked ${task}.</p>
<p>Asked by the application at ${escapeHtml(host)}, which wants to collect this patient's medical records from the health networks
for the patient (individual access).</p>
<ul>
<li>${button}: you return to ${escapeHtml(host)}. The records are requested when no further step is open.</li>
<li>Fail: nothing is requested. The application learns only that the identity was not confirmed.</li>
</ul>
<p>The link is valid until ${minuteOf(new Date(expiresAt))}. This partner is simulated: it verifies nothing.</p>
<form method="post"><button name="outcome" value="verified">${button}</button> <button name="outcome" value="failed">Fail</button></form>`;
}
