/** Explains which exchange a command talks to; printed at the end of the general help. */
export const WHERE_HELP = [
  'Without --base-url, a command talks to the stack that "npm start" runs on the data folder. With --base-url it talks',
  'to that exchange, with the key in API_KEY. Onboardings, bulk onboardings and monitorings run in Temporal. For them',
  'also set TEMPORAL_ADDRESS, DATA_KEYS, ID_HMAC_KEY, and EXCHANGE_ACCOUNT_ID or EXCHANGE_API_KEY to the values of the',
  'worker. The worker itself calls the exchange at its own EXCHANGE_BASE_URL. The "bulk" commands also need',
  'ORCHESTRATOR_FILES: a folder that they share with the worker.',
  '',
  'All work is durable: Ctrl-C stops the watching, not the work.',
].join('\n');

/** Printed with the help of each command. */
export const examples = {
  onboard: [
    'npm run starter -- onboard --sample keith-kiehn',
    'npm run starter -- onboard --sample all --sources hie,lab --no-wait',
    'npm run starter -- onboard --file patient.json --job admission-4711 --json',
    'npm run starter -- onboard --sample keith-kiehn --ias',
    'npm run starter -- onboard --sample keith-kiehn --ias --simulate-person',
  ],
  query: [
    'npm run starter -- query 0198f1c2-… --sources hie,pharmacy',
    'npm run starter -- query 0198f1c2-… --sources pharmacy --realtime --timeout 60',
    'API_KEY=… npm run starter -- query 0198f1c2-… --base-url https://exchange.example',
  ],
  status: [
    'npm run starter -- status 0198f1c2-…',
    'npm run starter -- status admission-4711 --wait',
    'npm run starter -- status admission-4711 --json',
    'npm run starter -- status patient-onboarding/5d41402abc4b2a76b9719d911017c592',
  ],
  retry: [
    'npm run starter -- retry 0198f1c2-… pharmacy',
    'npm run starter -- retry 0198f1c2-… lab --no-wait',
  ],
  redrive: [
    'npm run starter -- redrive --source lab --from 2026-11-21T22:00:00Z --to 2026-11-22T04:00:00Z --dry-run',
    'npm run starter -- redrive --source lab --from 2026-11-21T22:00:00Z --reason 401',
    'npm run starter -- redrive 0198f1c2-… --cancel',
  ],
  cancel: [
    'npm run starter -- cancel 0198f1c2-…',
    'npm run starter -- cancel 0198f1c2-… --source hie',
    'npm run starter -- cancel admission-4711',
  ],
  sources: [
    'npm run starter -- sources',
    'npm run starter -- sources pause hie --by "R. Ortiz" --reason "maintenance until 14:00 UTC"',
    'npm run starter -- sources resume hie',
  ],
  ops: [
    'npm run starter -- ops',
    'npm run starter -- ops --json',
    'DATABASE_URL=… TEMPORAL_ADDRESS=… DATA_KEYS=… API_KEY=… npm run starter -- ops --base-url https://exchange.example',
  ],
  records: [
    'npm run starter -- records 0198f1c2-… --format pdf --out record.pdf',
    'npm run starter -- records 0198f1c2-… --format html --from 2024-01-01 --out since-2024.html',
    'npm run starter -- records 0198f1c2-… --format json --resources Condition,Observation --out record.json',
  ],
  export: [
    'npm run starter -- export --out export',
    'npm run starter -- export --cohort 0198f1c2-… --type Patient,Condition --out diabetes',
    'npm run starter -- export --since 2026-05-01T12:00:00Z --no-wait --json',
    'npm run starter -- export --export 0198f1c3-… --out export',
  ],
  'export-cancel': ['npm run starter -- export-cancel 0198f1c3-…'],
  bulk: [
    'npm run starter -- bulk samples/panel.csv --dry-run',
    'npm run starter -- bulk panel.csv --job spring-panel --out results',
    'npm run starter -- bulk panel.csv --send-anyway --no-wait --json',
  ],
  'bulk-status': ['npm run starter -- bulk-status spring-panel --out results'],
  'bulk-pause': ['npm run starter -- bulk-pause spring-panel'],
  'bulk-resume': ['npm run starter -- bulk-resume spring-panel'],
  'bulk-cancel': ['npm run starter -- bulk-cancel spring-panel'],
  documents: [
    'npm run starter -- documents 0198f1c2-…',
    'npm run starter -- documents 0198f1c2-… --out papers --format pdf',
    'npm run starter -- documents 0198f1c2-… --from 2024-01-01 --content discharge --json',
  ],
  embed: ['npm run starter -- embed 0198f1c2-…', 'npm run starter -- embed 0198f1c2-… --seconds 600 --json'],
  'patients list': [
    'npm run starter -- patients list',
    'npm run starter -- patients list --count 500 --json',
  ],
  'patients find': [
    'npm run starter -- patients find kiehn 02108',
    'npm run starter -- patients find chart-20481',
  ],
  'patients show': ['npm run starter -- patients show 0198f1c2-…'],
  'duplicates list': [
    'npm run starter -- duplicates list',
    'npm run starter -- duplicates list --patient 0198f1c2-… --all --json',
  ],
  'duplicates show': ['npm run starter -- duplicates show 0198f1c2-…'],
  'duplicates accept': ['npm run starter -- duplicates accept 0198f1c2-…'],
  'duplicates refuse': ['npm run starter -- duplicates refuse 0198f1c2-…'],
  'cohorts list': ['npm run starter -- cohorts list'],
  'cohorts create': [
    'npm run starter -- cohorts create "Diabetes, high risk" --adt',
    'npm run starter -- cohorts create Panel --hie monthly --json',
  ],
  'cohorts show': ['npm run starter -- cohorts show 0198f1c2-…'],
  'cohorts add': ['npm run starter -- cohorts add 0198f1c2-… 0198f1c3-… 0198f1c4-…'],
  'cohorts remove': ['npm run starter -- cohorts remove 0198f1c2-… 0198f1c3-…'],
  'simulate set': [
    'npm run starter -- simulate set hie lost-callback',
    'npm run starter -- simulate set lab down --sample keith-kiehn --times 3',
  ],
  'simulate list': ['npm run starter -- simulate list'],
  'simulate clear': ['npm run starter -- simulate clear'],
  'notifications list': [
    'npm run starter -- notifications list',
    'npm run starter -- notifications list --patient 0198f1c2-… --json',
  ],
  'notifications unmatched': ['npm run starter -- notifications unmatched --count 100'],
  'notifications simulate': [
    'npm run starter -- notifications simulate keith-kiehn admit transfer discharge',
    'npm run starter -- notifications simulate keith-kiehn admit discharge cancel-discharge --order shuffled --times 2',
    'npm run starter -- notifications simulate keith-kiehn fill result',
  ],
  'messages list': [
    'npm run starter -- messages list --direction inbound --status completed',
    'npm run starter -- messages list --patient 0198f1c2-… --count 10 --json',
  ],
  'messages send': [
    'npm run starter -- messages send 0198f1c2-… --to dr@direct.example.org --subject Referral --body "Please see her."',
    'npm run starter -- messages send 0198f1c2-… --to 2.16.840.1.113883.3.9621.7.42 --subject Records --attach 0198f1c3-… 0198f1c4-…',
  ],
  'messages show': ['npm run starter -- messages show 0198f1c2-…'],
  'messages simulate': [
    'npm run starter -- messages simulate --sample keith-kiehn --subject "Discharge summary" --attach-file summary.xml',
    'npm run starter -- messages simulate --to records@direct.clinic.example.org --times 2',
  ],
  'monitor create': [
    'npm run starter -- monitor create 0198f1c2-… hie --frequency biweekly',
    'API_KEY=… npm run starter -- monitor create 0198f1c2-… hie --base-url https://exchange.example --time-zone Europe/Berlin',
  ],
  'monitor list': ['npm run starter -- monitor list', 'npm run starter -- monitor list 0198f1c2-… --json'],
  'monitor trigger': ['npm run starter -- monitor trigger 0198f1c2-… pharmacy'],
  'monitor pause': ['npm run starter -- monitor pause 0198f1c2-… hie --note "the network moves this week"'],
  'monitor resume': ['npm run starter -- monitor resume 0198f1c2-… hie'],
  'monitor backfill': [
    'npm run starter -- monitor backfill 0198f1c2-… hie --from 2026-06-01 --to 2026-11-01',
  ],
  'monitor delete': ['npm run starter -- monitor delete 0198f1c2-… hie'],
} as const satisfies Record<string, readonly string[]>;
