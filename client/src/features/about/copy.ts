export const copy = {
  title: 'About Terrace',
  lead: 'We build the app that a club’s supporters open on the days without a match, and we carry the cost of building it.',
  leadershipTitle: 'Meet Our Leadership Team',
  leadershipLead:
    'People who have run memberships, live video, sponsorship and safety, and who still take their turn on call.',
  leadershipLoading: 'Loading our leadership team',
  leadershipEmpty: 'Our leadership team information is being updated.',
  journeyTitle: 'Our Journey',
  journeyLead: 'From a question on a night train to the first partner clubs, and where we go next.',
  journeyLoading: 'Loading our journey',
  journeyEmpty: 'Our journey is being updated.',
  expand: 'Expand',
  collapse: 'Collapse',
  ahead: 'Still ahead',
  investorsTitle: 'Backed by Builders',
  investorsLead: 'Three investors who have built what they now invest in.',
  investorsLoading: 'Loading our investors',
  investorsEmpty: 'Our investor information is being updated.',
  joinTitle: 'Join Our Team',
  joinLead:
    'We are small, remote and in a hurry to do it properly. If that sounds like a place for you, have a look at what is open.',
  joinAction: 'View Open Positions',
} as const
