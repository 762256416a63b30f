/** A numbered section of the policy: its heading and its paragraphs. */
interface PolicySection {
  title: string
  paragraphs: readonly string[]
}

export const privacy = {
  title: 'Privacy Policy',
  updated: 'Last updated: April 28, 2025',
  contactTitle: 'How to reach us',
  sections: [
    {
      title: 'Who is responsible',
      paragraphs: [
        'Terrace Fan Platforms Ltd, whose address is in the imprint, decides why and how personal data is processed on this website and is the controller in the sense of the General Data Protection Regulation.',
      ],
    },
    {
      title: 'What this policy covers',
      paragraphs: [
        'It covers this website, its forms, its newsletter, its chat assistant and the sign-in for staff and partners. The apps of our partner clubs have policies of their own, which the clubs publish.',
      ],
    },
    {
      title: 'What your browser tells us',
      paragraphs: [
        'When you open a page, our server receives your internet address, the time, the page and the kind of browser. It needs them to answer, and keeps them for at most fourteen days to detect attacks. Our basis is the legitimate interest in a safe website.',
      ],
    },
    {
      title: 'When you write to us',
      paragraphs: [
        'The contact form asks for your name, company and e-mail address, and takes a message if you like. We use them to answer you and delete them two years after the last exchange, unless a contract comes out of it.',
      ],
    },
    {
      title: 'When you subscribe to the newsletter',
      paragraphs: [
        'We keep your e-mail address, the time of your consent and, as proof of it, the internet address from which you gave it. Your browser asks a public look-up service for that address. You can unsubscribe at any time by the link in each issue; we then delete the address.',
      ],
    },
    {
      title: 'When you apply for a position',
      paragraphs: [
        'We keep your name, your e-mail address, the position and your message for six months after a decision, so that we can answer questions about it. If you are signed in, the application is linked with your account.',
      ],
    },
    {
      title: 'When you talk to the assistant',
      paragraphs: [
        'Your message goes to our server, which composes an answer, for which it may use a language model of a processor. Please do not tell the assistant anything confidential. Conversations are not stored with your name.',
      ],
    },
    {
      title: 'When you sign in',
      paragraphs: [
        'We keep your e-mail address, a hash of your password, your name and picture if you give them, and your roles. To notice a stolen session, your browser remembers a fingerprint of its own settings. The fingerprint never leaves your device.',
      ],
    },
    {
      title: 'Cookies and local storage',
      paragraphs: [
        'We store what the site needs to work: your cookie choice, form tokens, whether the newsletter was offered to you and, if you sign in, your session. Everything else waits for your consent. The cookie policy lists it all.',
      ],
    },
    {
      title: 'Who else receives data',
      paragraphs: [
        'Companies that host and send for us, under contracts that bind them to our instructions. We sell nothing, and we share nothing with advertisers.',
      ],
    },
    {
      title: 'Transfers to other countries',
      paragraphs: [
        'Where a processor works outside the European Economic Area and the United Kingdom, the transfer rests on an adequacy decision or on standard contractual clauses. We send you a copy if you ask.',
      ],
    },
    {
      title: 'How we protect data',
      paragraphs: [
        'Connections are encrypted, access is limited by role and logged, and every table that holds personal data is closed unless a rule opens it. We test these rules with every change.',
      ],
    },
    {
      title: 'Your rights',
      paragraphs: [
        'You may ask for access, correction, deletion, restriction and a portable copy of your data, object to processing that rests on legitimate interests, and withdraw consent at any time. You may also complain to a data protection authority.',
      ],
    },
    {
      title: 'Changes and contact',
      paragraphs: [
        'We update this policy when the site changes and show the date above. For everything about your data, write or call:',
      ],
    },
  ] satisfies PolicySection[],
} as const
