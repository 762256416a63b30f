export const cookies = {
  title: 'Cookie Policy',
  note: 'What this site stores in your browser, and what it waits with until you agree.',
  sections: [
    {
      title: 'What cookies are',
      paragraphs: [
        'Cookies and entries in local storage are small texts that a website keeps in your browser. Some make a site work; others tell its owner how it is used.',
      ],
    },
    {
      title: 'How we use them',
      paragraphs: [
        'Before you choose, we keep only what the site cannot do without. Cookies for analysis and marketing need your consent: none is set before you press Accept, and if you press Decline, any that are there are deleted.',
        'At the moment the site has no analysis and no marketing, so it sets none of them even if you accept. The table says which ones your consent covers, and for how long each would stay.',
      ],
    },
  ],
  tableTitle: 'The cookies in detail',
  tableNote:
    'Your choice is kept in local storage, with the time at which you made it (cookieConsentTime). After a year we ask again.',
  columns: ['Name', 'Kind', 'What it is for', 'Duration'],
  rows: [
    {
      name: 'cookieConsent',
      kind: 'Necessary',
      purpose: 'Remembers whether you accepted or declined cookies.',
      duration: '1 year',
    },
    {
      name: 'terrace_visitor',
      kind: 'Analytics',
      purpose: 'Tells returning visitors from new ones, without a name.',
      duration: '2 years',
    },
    {
      name: 'terrace_visit',
      kind: 'Analytics',
      purpose: 'Joins the pages of one visit.',
      duration: '24 hours',
    },
    {
      name: 'terrace_campaign',
      kind: 'Marketing',
      purpose: 'Remembers which campaign led you here.',
      duration: '6 months',
    },
  ],
  entriesTitle: 'What else your browser keeps',
  entriesNote:
    'These entries are in local storage, or in session storage where we say so. Each is made by something that you do, none leaves your browser except as we say, and none is used to follow you.',
  entries: [
    {
      names: ['newsletter_popup_interacted', 'newsletter_popup_disabled'],
      purpose: 'The newsletter was offered to you. The offer is not made again.',
    },
    {
      names: ['csrf_token'],
      purpose:
        'A random token that is sent with a form, to prevent misuse. In session storage, which ends with the tab.',
    },
    {
      names: ['drafts', 'reloaded_at'],
      purpose:
        'If the page has to be loaded again while you write: what you had written, without passwords, until its form has it again, and the time. In session storage, too.',
    },
    {
      names: ['contact_submissions', 'job_application'],
      purpose: 'The times at which you sent a form, so that it cannot be sent too often.',
    },
    {
      names: ['site_authenticated'],
      purpose: 'You have passed the password that this site may have.',
    },
    {
      names: ['terrace-auth', 'last_activity', 'session_fingerprint'],
      purpose:
        'If you sign in: your session, which is sent to our server; the time of your last action, after which you are signed out; and a fingerprint of your browser’s settings, to notice a stolen session.',
    },
  ],
  changeTitle: 'Change your choice',
  change:
    'You can change your preferences at any time via the Cookie Settings link in the footer of every page. You can also delete cookies in your browser.',
} as const
